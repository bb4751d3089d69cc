import { useEffect, useState } from 'react'
import type { ListedEvent } from '../api/operator-client.ts'
import { texts } from '../texts/texts.ts'

/** A time in the viewer's time zone, with UTC as a tooltip. */
export function Instant({ at }: { readonly at: string | null }) {
  if (at === null) return <span className="text-quiet">{texts.none}</span>
  return (
    <time dateTime={at} title={texts.time.utc(at)} className="whitespace-nowrap tabular-nums">
      {texts.time.local(new Date(at))}
    </time>
  )
}

const TICK_MS = 5_000

/** How long ago a time was, with the exact one as a tooltip. */
export function Ago({ at }: { readonly at: string | null }) {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), TICK_MS)
    return () => clearInterval(timer)
  }, [])
  if (at === null) return <span className="text-quiet">{texts.none}</span>
  const title = `${texts.time.local(new Date(at))} · ${texts.time.utc(at)}`
  return (
    <time dateTime={at} title={title} className="whitespace-nowrap tabular-nums">
      {texts.time.ago((now - Date.parse(at)) / 1_000)}
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

const LOOKS: Readonly<Record<ListedEvent['state'], readonly [mark: string, colour: string]>> = {
  pending: ['◔', 'text-wait'],
  processing: ['◑', 'text-wait'],
  done: ['●', 'text-good'],
  unhandled: ['○', 'text-quiet'],
  dead: ['✕', 'text-bad'],
  closed: ['▪', 'text-quiet'],
}

/** A state by its shape and word. Where the shape is enough, the word is for screen readers only. */
export function StateBadge(props: { readonly state: ListedEvent['state']; readonly isWordHidden?: boolean }) {
  const { state, isWordHidden = false } = props
  const [mark, colour] = LOOKS[state]
  return (
    <span className={`whitespace-nowrap ${colour}`}>
      <span aria-hidden="true" className="inline-block w-4">
        {mark}
      </span>
      <span className={isWordHidden ? 'sr-only' : ''}>{state}</span>
    </span>
  )
}

export function TestTag() {
  return (
    <span className="rounded border border-edge px-1 text-quiet" title="An operator sent it as a test.">
      Test
    </span>
  )
}
