import { useState } from 'react'
import type { Answers } from '../api/operator-client.ts'
import { useMayDo } from '../api/session.ts'
import { GuardedButton } from '../parts/buttons.tsx'
import { Instant } from '../parts/values.tsx'
import { texts } from '../texts/texts.ts'
import { ReasonDialog, type ReasonedAction } from './reason-dialog.tsx'

/** Whether a provider or a handler is paused, by whom and why, and the button that pauses or resumes it. */
export function PauseControl(props: {
  readonly kind: 'providers' | 'handlers'
  readonly name: string
  readonly paused: Answers['handlers']['list'][number]['paused']
  /** What waits for its end. */
  readonly waiting: string
  readonly pause: ReasonedAction['act']
  readonly resume: ReasonedAction['act']
}) {
  const { kind, name, paused, waiting } = props
  const [action, setAction] = useState<ReasonedAction | null>(null)
  const why = useMayDo('operate') ? null : texts.why.operate
  const { pauseHint, resumeHint } = texts[kind]
  const { pauseTitle, pauseSubmit, resumeTitle, resumeSubmit } = texts.providers
  const next: ReasonedAction =
    paused === null
      ? { title: pauseTitle(name), hint: pauseHint, submit: pauseSubmit(name), act: props.pause }
      : { title: resumeTitle(name), hint: resumeHint, submit: resumeSubmit(name), act: props.resume }
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
        onClick={() => setAction(next)}
      />
      {action !== null && <ReasonDialog action={action} changes={[kind, 'overview']} onClose={() => setAction(null)} />}
    </>
  )
}
