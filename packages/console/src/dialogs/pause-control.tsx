import type { Answers } from '../api/operator-client.ts'
import { Instant } from '../parts/values.tsx'
import { texts } from '../texts/texts.ts'
import { ActionButton, type ReasonedAction } from './reason-dialog.tsx'

/** Whether a provider or a handler is paused, by whom and why, and the button that pauses or resumes it. */
export function PauseControl(props: {
  readonly kind: 'providers' | 'handlers'
  readonly name: string
  readonly paused: Answers['handlers']['list'][number]['paused']
  /** How many events or tasks wait for its end. Null: counting them took too long. */
  readonly waiting: number | null
  readonly pauseHint: string
  readonly pause: ReasonedAction['act']
  readonly resume: ReasonedAction['act']
}) {
  const { kind, name, paused, waiting, pauseHint, pause, resume } = props
  const noun = kind === 'providers' ? 'event' : 'task'
  const [verb, act] = paused === null ? (['Pause', pause] as const) : (['Resume', resume] as const)
  const title = `${verb} ${name}`
  return (
    <>
      {paused !== null && (
        <p role="status" className="basis-full">
          <strong className="text-wait">Paused</strong> <Instant at={paused.since} /> by {paused.by}: {paused.reason} ·{' '}
          {waiting === null
            ? `counting the waiting ${noun}s took too long`
            : texts.plural(waiting, `${noun} waits`, `${noun}s wait`)}
        </p>
      )}
      <ActionButton
        text={`${verb}…`}
        {...{ title, submit: title, act }}
        hint={paused === null ? pauseHint : `The waiting ${noun}s are sent, the oldest first.`}
        changes={[kind, 'overview']}
      />
    </>
  )
}
