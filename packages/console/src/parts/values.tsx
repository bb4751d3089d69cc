// Values of an event as tables and pages show them: a time, a long id, a state, a mark.

import type { ListedEvent } from '../api/operator-client.ts'
import { texts } from '../texts/texts.ts'

/** A time in the viewer's time zone, with UTC as a tooltip. In a narrow window, optionally without year and seconds. */
export function Instant(props: { readonly at: string | null; readonly isShortWhenNarrow?: boolean }) {
  const { at, isShortWhenNarrow = false } = props
  if (at === null) return <span className="text-quiet">{texts.frame.none}</span>
  const date = new Date(at)
  return (
    <time dateTime={at} title={texts.time.utc(at)} className="whitespace-nowrap tabular-nums">
      {isShortWhenNarrow && <span className="sm:hidden">{texts.time.short(date)}</span>}
      <span className={isShortWhenNarrow ? 'max-sm:hidden' : ''}>{texts.time.local(date)}</span>
    </time>
  )
}

const END = 6

/** An id that is cut in its middle if it is too long, because ids of one kind often begin alike. Put it in a flex row. */
export function LongId({ id }: { readonly id: string }) {
  return (
    <>
      <span className="truncate">{id.slice(0, -END)}</span>
      <span>{id.slice(-END)}</span>
    </>
  )
}

const LOOKS: Readonly<Record<ListedEvent['state'], { readonly mark: string; readonly colour: string }>> = {
  pending: { mark: '◔', colour: 'text-wait' },
  processing: { mark: '◑', colour: 'text-wait' },
  done: { mark: '●', colour: 'text-good' },
  unhandled: { mark: '○', colour: 'text-quiet' },
  dead: { mark: '✕', colour: 'text-bad' },
  closed: { mark: '▪', colour: 'text-quiet' },
}

export function StateBadge({ state }: { readonly state: ListedEvent['state'] }) {
  const { mark, colour } = LOOKS[state]
  return (
    <span className={`whitespace-nowrap ${colour}`}>
      <span aria-hidden="true" className="inline-block w-4">
        {mark}
      </span>
      {texts.states[state]}
    </span>
  )
}

export function TestTag() {
  return (
    <span className="rounded border border-edge px-1 text-quiet" title={texts.test.means}>
      {texts.test.tag}
    </span>
  )
}
