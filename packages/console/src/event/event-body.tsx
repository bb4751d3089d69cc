import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { type EventDetails, operator } from '../api/operator-client.ts'
import { useMayDo } from '../api/use-may-do.ts'
import { GuardedButton } from '../parts/guarded-button.tsx'
import { PlainTable } from '../parts/plain-table.tsx'
import { ProblemNotice } from '../parts/problem-notice.tsx'
import { Section } from '../parts/section.tsx'
import { texts } from '../texts.ts'
import { indentJson } from './indent-json.ts'

/** The body and the headers of an event. The body is read only when somebody asks for it, and only as text. */
export function EventBody({ event }: { readonly event: EventDetails }) {
  const reading = useMutation({ mutationFn: () => operator.events.get.query({ id: event.id, body: true }) })
  const mayRead = useMayDo('bodies')
  const { data, error } = reading
  return (
    <>
      <Section title={texts.event.headers}>
        <Headers headers={(data ?? event).headers} isWhole={data !== undefined} />
      </Section>
      <Section title={texts.event.body}>
        {event.notReadable !== null && <p className="text-bad">{texts.event.notReadable(event.notReadable)}</p>}
        {error !== null && <ProblemNotice error={error} />}
        {data === undefined ? (
          <p className="mt-2 flex flex-wrap items-center gap-3">
            <GuardedButton
              text={texts.event.showBody}
              why={mayRead ? null : texts.why.bodies}
              onClick={() => reading.mutate()}
            />
            <span className="text-quiet">{mayRead ? texts.event.bodyHint : texts.why.bodies}</span>
          </p>
        ) : (
          <BodyText raw={data.raw ?? ''} />
        )}
      </Section>
    </>
  )
}

function Headers(props: { readonly headers: EventDetails['headers']; readonly isWhole: boolean }) {
  const rows = Object.entries(props.headers).map(([name, value]) => ({
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
      {!props.isWhole && <p className="text-quiet">{texts.event.partHeaders}</p>}
    </>
  )
}

const FORMS = ['pretty', 'raw'] as const

function BodyText({ raw }: { readonly raw: string }) {
  const [form, setForm] = useState<(typeof FORMS)[number]>('pretty')
  const text = new TextDecoder().decode(Uint8Array.from(atob(raw), (character) => character.charCodeAt(0)))
  const pretty = indentJson(text)
  return (
    <>
      <fieldset className="my-2 flex gap-4">
        <legend className="sr-only">{texts.event.bodyForm}</legend>
        {FORMS.map((one) => (
          <label key={one} className="flex items-center gap-1">
            <input type="radio" name="form" checked={form === one} onChange={() => setForm(one)} />
            {texts.event[one]}
          </label>
        ))}
      </fieldset>
      {form === 'pretty' && pretty === null && <p className="text-quiet">{texts.event.notJson}</p>}
      <section aria-label={texts.event.body} tabIndex={0} className="max-h-[70vh] overflow-auto bg-raised p-3">
        <pre className="font-mono break-all whitespace-pre-wrap">{form === 'pretty' ? (pretty ?? text) : text}</pre>
      </section>
    </>
  )
}
