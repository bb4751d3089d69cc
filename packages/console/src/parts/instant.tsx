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
