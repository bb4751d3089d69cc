import { useEffect, useRef, useState } from 'react'
import { texts } from '../texts/texts.ts'
import type { EventSearch } from './event-search.ts'
import { useFilterChange } from './use-event-search.ts'

const MINUTE_MS = 60_000
const OWN = 'own'

/** The filter for the time of receipt: usual spans, or two times in the viewer's zone. */
export function TimeFilter({ search }: { readonly search: EventSearch }) {
  const change = useFilterChange()
  const hasTimes = search.from !== undefined || search.to !== undefined
  const [isOwn, setIsOwn] = useState(hasTimes)
  const part = useRef<HTMLDivElement>(null)
  // Other parts of the page set and clear the times as well. The fields stay while somebody types into one of them.
  useEffect(() => {
    if (hasTimes || !part.current?.contains(document.activeElement)) setIsOwn(hasTimes)
  }, [hasTimes])
  const show = (from: string | undefined, to: string | undefined): void => change({ from, to })
  const choose = (span: string | undefined): void => {
    setIsOwn(span !== undefined)
    if (span === OWN) return
    show(span === undefined ? undefined : new Date(Date.now() - Number(span) * MINUTE_MS).toISOString(), undefined)
  }
  return (
    <div ref={part} className="flex flex-wrap items-center gap-x-4 gap-y-2">
      <fieldset className="flex flex-wrap">
        <legend className="sr-only">{texts.events.time}</legend>
        <SpanChip text={texts.events.anyTime} isCurrent={!isOwn} onChoose={() => choose(undefined)} />
        {Object.entries(texts.events.timeSpans).map(([minutes, text]) => (
          <SpanChip key={minutes} text={text} onChoose={() => choose(minutes)} />
        ))}
        <SpanChip text={texts.events.ownTime} isCurrent={isOwn} onChoose={() => choose(OWN)} />
      </fieldset>
      {isOwn && (
        <>
          <TimeField label={texts.events.from} at={search.from} onChange={(from) => show(from, search.to)} />
          <TimeField label={texts.events.to} at={search.to} onChange={(to) => show(search.from, to)} />
        </>
      )}
    </div>
  )
}

function SpanChip(props: { readonly text: string; readonly isCurrent?: boolean; readonly onChoose: () => void }) {
  const { text, isCurrent = false, onChoose } = props
  return (
    <button type="button" className="chip" aria-current={isCurrent ? 'true' : undefined} onClick={onChoose}>
      {text}
    </button>
  )
}

/** A time in the format of the browser's field: in the viewer's time zone, without its name. */
function toField(at: string | undefined): string {
  if (at === undefined) return ''
  const date = new Date(at)
  return new Date(date.getTime() - date.getTimezoneOffset() * MINUTE_MS).toISOString().slice(0, 16)
}

function TimeField(props: {
  readonly label: string
  readonly at: string | undefined
  readonly onChange: (at: string | undefined) => void
}) {
  return (
    <label className="flex items-center gap-1">
      {props.label}
      <input
        type="datetime-local"
        className="input"
        value={toField(props.at)}
        onChange={({ target }) => {
          props.onChange(target.value === '' ? undefined : new Date(target.value).toISOString())
        }}
      />
    </label>
  )
}
