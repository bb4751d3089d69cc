import { useQuery } from '@tanstack/react-query'
import { useId } from 'react'
import { type EventDetails, operator } from '../api/operator-client.ts'
import { useMayDo } from '../api/session.ts'
import { PlainTable } from '../parts/plain-table.tsx'
import { QueryProblem } from '../parts/problem-notice.tsx'
import { Section } from '../parts/section.tsx'
import { texts } from '../texts/texts.ts'
import { indentJson } from './indent-json.ts'

/** The body and the headers of an event. The body is shown only as text, and only to operators with the role `bodies`. */
export function EventBody({ event }: { readonly event: EventDetails }) {
  const { data, error, refetch } = useEventBody(event.id)
  const mayRead = useMayDo('bodies')
  return (
    <>
      <Section title={texts.event.headers}>
        <Headers headers={(data ?? event).headers} />
        {data === undefined && <p className="text-quiet">{texts.event.partHeaders}</p>}
      </Section>
      <Section title={texts.event.body}>
        <p className="text-quiet">{mayRead ? texts.event.bodyHint : texts.why.bodies}</p>
        {event.notReadable !== null && <p className="text-bad">{texts.event.notReadable(event.notReadable)}</p>}
        <QueryProblem error={error} retry={() => void refetch()} />
        {mayRead && data === undefined && error === null && <p role="status">{texts.frame.loading}</p>}
        {data?.raw && <BodyText raw={data.raw} />}
        {data !== undefined && !data.raw && <p>{texts.event.noBody}</p>}
      </Section>
    </>
  )
}

function Headers({ headers }: Pick<EventDetails, 'headers'>) {
  const rows = Object.entries(headers).map(([name, value]) => ({
    key: name,
    cells: [
      <code key="name" className="font-mono">
        {name}
      </code>,
      <code key="value" className="font-mono break-all">
        {value}
      </code>,
    ],
  }))
  return (
    <>
      {rows.length === 0 && <p className="text-quiet">{texts.event.noHeaders}</p>}
      {rows.length > 0 && (
        <PlainTable
          caption={texts.event.headers}
          heads={[texts.event.headerName, texts.event.headerValue]}
          rows={rows}
        />
      )}
    </>
  )
}

function BodyText({ raw }: { readonly raw: string }) {
  const text = new TextDecoder().decode(Uint8Array.from(atob(raw), (character) => character.charCodeAt(0)))
  const pretty = indentJson(text)
  return (
    <div className="mt-2 grid gap-4 lg:grid-cols-2">
      <BodyForm title={texts.event.pretty} text={pretty} />
      <BodyForm title={texts.event.raw} text={text} />
    </div>
  )
}

function BodyForm({ title, text }: { readonly title: string; readonly text: string | null }) {
  const id = useId()
  return (
    <div className="min-w-0">
      <h3 id={id} className="font-semibold">
        {title}
      </h3>
      {text === null ? (
        <p className="text-quiet">{texts.event.notJson}</p>
      ) : (
        <section aria-labelledby={id} tabIndex={0} className="max-h-[70vh] overflow-auto bg-raised p-3">
          <pre className="font-mono break-all whitespace-pre-wrap">{text}</pre>
        </section>
      )}
    </div>
  )
}

/**
 * The event with its body and all its headers, if the token may read bodies. It is read only once each time the page is
 * opened, because each reading adds an entry to the audit log.
 */
function useEventBody(id: string) {
  const enabled = useMayDo('bodies')
  return useQuery<EventDetails>({
    ...{ enabled, queryKey: ['body', id], queryFn: () => operator.events.get.query({ id, body: true }) },
    ...{ staleTime: Number.POSITIVE_INFINITY, gcTime: 0, retry: false },
  })
}
