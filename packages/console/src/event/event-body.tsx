import { type ReactNode, useState } from 'react'
import { type EventDetails, operator } from '../api/operator-client.ts'
import { useMayDo } from '../api/session.ts'
import { useOnce } from '../api/use-answer.ts'
import { CopyButton } from '../parts/buttons.tsx'
import { QueryProblem } from '../parts/problem-notice.tsx'
import { Section } from '../parts/section.tsx'
import { texts } from '../texts/texts.ts'
import { indentJson } from './indent-json.ts'

/** The body and the headers of an event. The body is shown only as text, and only to operators with the role `bodies`. */
export function EventBody({ event }: { readonly event: EventDetails }) {
  const { id } = event
  const mayRead = useMayDo('bodies')
  // Each reading adds an entry to the audit log.
  const { data, error, refetch } = useOnce(['body', id], () => operator.events.get.query({ id, body: true }), mayRead)
  return (
    <>
      <Section title="Body">
        <p className="text-quiet">
          {mayRead
            ? 'The audit log has recorded that you opened this page, because it shows the body.'
            : texts.why('bodies')}
        </p>
        {event.notReadable !== null && (
          <p className="text-bad">Body and headers cannot be read: {event.notReadable}.</p>
        )}
        <QueryProblem error={error} retry={() => void refetch()} />
        {mayRead && data === undefined && error === null && <p role="status">{texts.loading}</p>}
        {data?.raw && <BodyText event={data} raw={data.raw} />}
        {data !== undefined && !data.raw && <p>No body is stored.</p>}
      </Section>
      <Section title="Headers">
        <pre className="break-all whitespace-pre-wrap">
          {linesOf(data ?? event).join('\n') || 'No headers are stored.'}
        </pre>
        {data === undefined && (
          <p className="text-quiet">
            Signatures and other credentials are hidden: they are shown together with the body.
          </p>
        )}
      </Section>
    </>
  )
}

const linesOf = ({ headers }: EventDetails) => Object.entries(headers).map(([name, value]) => `${name}: ${value}`)

/** The body, folded if it is JSON, and as it came, and both to copy. */
function BodyText({ event, raw }: { readonly event: EventDetails; readonly raw: string }) {
  const text = new TextDecoder().decode(Uint8Array.from(atob(raw), (character) => character.charCodeAt(0)))
  const indented = indentJson(text)
  const [sought, setSought] = useState('')
  return (
    <>
      <div className="my-2 flex flex-wrap items-center gap-2">
        {indented === null ? (
          <span className="text-quiet">Only the raw body is shown: it is not JSON, or too long to format.</span>
        ) : (
          <input
            type="search"
            className="input"
            aria-label="Search in the body"
            placeholder="Search in the body"
            value={sought}
            onChange={({ target }) => setSought(target.value)}
          />
        )}
        <CopyButton text={text} name="Copy" />
        <CopyButton text={toCurl(event, raw)} name="Copy as curl" />
      </div>
      <div className="grid gap-4 lg:grid-cols-2">
        {indented !== null && (
          <BodyForm title="Formatted">
            <JsonTree text={indented} sought={sought} />
          </BodyForm>
        )}
        <BodyForm title="Raw">
          <pre className="break-all whitespace-pre-wrap">{text}</pre>
        </BodyForm>
      </div>
    </>
  )
}

function BodyForm({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section
      aria-label={title}
      tabIndex={0}
      className="max-h-[60vh] min-w-0 overflow-auto rounded-lg border border-line bg-raised p-3 font-mono"
    >
      {children}
    </section>
  )
}

const OPENED_DEPTH = 3
/** So many lines are folded from some depth on. Fewer are shown whole. */
const MANY_LINES = 80

interface Tree {
  /** The number of its line. */
  readonly line: number
  readonly text: string
  /** What is inside, and the line that closes it. */
  readonly inside?: readonly Tree[]
  readonly close?: string
}

/** The text must be indented by two spaces for each level. */
function JsonTree({ text, sought }: { readonly text: string; readonly sought: string }) {
  const lines = text.split('\n')
  const depth = sought !== '' || lines.length <= MANY_LINES ? Number.POSITIVE_INFINITY : OPENED_DEPTH
  return (
    // As high as what one clicks on must be (WCAG 2.5.8).
    <div className="leading-[24px]">
      <Lines trees={toTrees(lines)} sought={sought.toLowerCase()} openTo={depth} />
    </div>
  )
}

function toTrees(lines: readonly string[]): readonly Tree[] {
  const open: { line: number; text: string; inside: Tree[] }[] = [{ line: -1, text: '', inside: [] }]
  for (const [line, indented] of lines.entries()) {
    const text = indented.trimStart()
    if (/[[{]$/.test(text)) open.push({ line, text, inside: [] })
    else if (/^[\]}]/.test(text)) {
      const opened = open.pop()
      if (opened !== undefined) open.at(-1)?.inside.push({ ...opened, close: text })
    } else open.at(-1)?.inside.push({ line, text })
  }
  return open[0]?.inside ?? []
}

interface LinesProps {
  readonly trees: readonly Tree[]
  readonly sought: string
  readonly openTo: number
}

function Lines({ trees, sought, openTo }: LinesProps): ReactNode {
  return trees.map(({ line, text, inside, close }) =>
    inside === undefined ? (
      <Line key={line} text={text} sought={sought} />
    ) : (
      <details key={line} open={openTo > 0} className="json">
        <summary>
          <Line text={text} sought={sought} />
        </summary>
        <div className="pl-4">
          <Lines trees={inside} sought={sought} openTo={openTo - 1} />
        </div>
        <Line text={close ?? ''} sought="" />
      </details>
    ),
  )
}

function Line({ text, sought }: { readonly text: string; readonly sought: string }) {
  const isFound = sought !== '' && text.toLowerCase().includes(sought)
  return isFound ? <mark className="block break-all">{text}</mark> : <span className="block break-all">{text}</span>
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** A command that sends the same bytes and headers again. */
function toCurl(event: EventDetails, raw: string): string {
  const lines = linesOf(event).map((line) => `-H ${quoted(line)}`)
  const url = quoted(`http://127.0.0.1:8080/api/webhooks/${event.provider}`)
  return [`echo ${raw} | base64 -d | curl -i ${url}`, ...lines, '--data-binary @-'].join(' \\\n  ')
}
