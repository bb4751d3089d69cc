import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useMayDo } from '../api/session.ts'
import { GuardedButton } from '../parts/buttons.tsx'
import { Instant } from '../parts/values.tsx'
import { texts } from '../texts/texts.ts'
import { ReasonDialog, type ReasonedAction } from './reason-dialog.tsx'

/** Since when something is paused, who did it and why. */
interface ShownPause {
  readonly since: string
  readonly by: string
  readonly reason: string
}

/** Whether something is paused, by whom and why, and the button that pauses or resumes it. */
export function PauseControl(props: {
  /** Null: it is not paused. */
  readonly paused: ShownPause | null
  /** What waits for its end. */
  readonly waiting: string
  readonly pausing: ReasonedAction
  readonly resuming: ReasonedAction
  /** What to read again after a change. */
  readonly changes: readonly string[]
}) {
  const { paused, waiting, pausing, resuming, changes } = props
  const [action, setAction] = useState<ReasonedAction | null>(null)
  const client = useQueryClient()
  const why = useMayDo('operate') ? null : texts.why.operate
  const done = (): void => {
    setAction(null)
    for (const name of changes) void client.invalidateQueries({ queryKey: [name] })
  }
  return (
    <>
      {paused !== null && (
        <p role="status" className="basis-full">
          <strong className="text-wait">{texts.providers.paused}</strong> <Instant at={paused.since} />{' '}
          {texts.providers.pausedBy(paused.by, paused.reason)} · {waiting}
        </p>
      )}
      <GuardedButton
        text={paused === null ? texts.providers.pause : texts.providers.resume}
        why={why}
        onClick={() => setAction(paused === null ? pausing : resuming)}
      />
      {action !== null && <ReasonDialog action={action} onDone={done} onClose={() => setAction(null)} />}
    </>
  )
}
