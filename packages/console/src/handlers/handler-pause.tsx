import { operator } from '../api/operator-client.ts'
import { PauseControl } from '../dialogs/pause-control.tsx'
import type { ReasonedAction } from '../dialogs/reason-dialog.tsx'
import { texts } from '../texts/texts.ts'
import type { ListedHandler } from './use-handlers.ts'

/** Whether an operator has paused a handler, who and why, and the button that pauses or resumes it. */
export function HandlerPause({ handler: { name, paused, pending } }: { readonly handler: ListedHandler }) {
  return (
    <PauseControl
      paused={paused}
      waiting={texts.handlers.waiting(pending)}
      pausing={pausing(name)}
      resuming={resuming(name)}
      changes={['handlers', 'overview']}
    />
  )
}

function pausing(handler: string): ReasonedAction {
  const act = (reason: string) => operator.handlers.pause.mutate({ handler, reason })
  const submit = texts.providers.pauseSubmit(handler)
  return { title: texts.providers.pauseTitle(handler), hint: texts.handlers.pauseHint, submit, act }
}

function resuming(handler: string): ReasonedAction {
  const act = (reason: string) => operator.handlers.resume.mutate({ handler, reason })
  const submit = texts.providers.resumeSubmit(handler)
  return { title: texts.providers.resumeTitle(handler), hint: texts.handlers.resumeHint, submit, act }
}
