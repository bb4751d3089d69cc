import { texts } from '../texts/texts.ts'
import type { TailState } from './use-event-tail.ts'

type Shown = TailState | 'broken'

const LOOKS: Readonly<Record<Shown, string>> = {
  off: 'text-quiet',
  starting: 'text-quiet',
  live: 'text-good',
  reconnecting: 'text-wait',
  crowded: 'text-wait',
  share: 'text-wait',
  broken: 'text-bad',
}

/** Whether the list is live, how many changes it does not show, and a button to read it again. */
export function Liveness(props: {
  readonly tail: Shown
  readonly leftOut: number | null
  readonly readAgain: () => void
}) {
  const { tail, leftOut, readAgain } = props
  return (
    <>
      <span role="status" className={LOOKS[tail]}>
        {texts.events.tail[tail]}
      </span>
      {leftOut !== 0 && <span className="text-wait tabular-nums">{texts.events.leftOut(leftOut)}</span>}
      {(leftOut !== 0 || tail === 'off') && (
        <button type="button" className="button" onClick={readAgain}>
          {texts.events.readAgain}
        </button>
      )}
    </>
  )
}
