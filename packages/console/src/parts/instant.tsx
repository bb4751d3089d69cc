import { texts } from '../texts/texts.ts'

const LOCAL = new Intl.DateTimeFormat(undefined, {
  ...{ year: 'numeric', month: '2-digit', day: '2-digit' },
  ...{ hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' },
})

const SHORT = new Intl.DateTimeFormat(undefined, {
  ...{ month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' },
})

/** A time in the viewer's time zone, with UTC as a tooltip. In a narrow window, optionally without year and seconds. */
export function Instant(props: { readonly at: string | null; readonly isShortWhenNarrow?: boolean }) {
  const { at, isShortWhenNarrow = false } = props
  if (at === null) return <span className="text-quiet">{texts.frame.none}</span>
  const date = new Date(at)
  return (
    <time dateTime={at} title={texts.time.utc(at)} className="whitespace-nowrap tabular-nums">
      {isShortWhenNarrow && <span className="sm:hidden">{SHORT.format(date)}</span>}
      <span className={isShortWhenNarrow ? 'max-sm:hidden' : ''}>{LOCAL.format(date)}</span>
    </time>
  )
}
