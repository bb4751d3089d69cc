import { type Answers, operator } from '../api/operator-client.ts'
import { PauseControl } from '../dialogs/pause-control.tsx'
import type { ReasonedAction } from '../dialogs/reason-dialog.tsx'
import { texts } from '../texts/texts.ts'

type Pause = Answers['providers']['list'][number]['paused']

/** Whether a provider is paused, by whom and why, and the button that pauses or resumes it. */
export function ProviderPause({ provider, paused }: { readonly provider: string; readonly paused: Pause }) {
  return (
    <PauseControl
      paused={paused}
      waiting={texts.providers.waiting(paused?.waiting ?? null)}
      pausing={pausing(provider)}
      resuming={resuming(provider)}
      changes={['providers', 'overview']}
    />
  )
}

function pausing(provider: string): ReasonedAction {
  const { pauseTitle, pauseHint: hint, pauseSubmit } = texts.providers
  const act = (reason: string) => operator.providers.pause.mutate({ provider, reason })
  return { title: pauseTitle(provider), hint, submit: pauseSubmit(provider), act }
}

function resuming(provider: string): ReasonedAction {
  const { resumeTitle, resumeHint: hint, resumeSubmit } = texts.providers
  const act = (reason: string) => operator.providers.resume.mutate({ provider, reason })
  return { title: resumeTitle(provider), hint, submit: resumeSubmit(provider), act }
}
