import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type Answers, operator } from '../api/operator-client.ts'
import { useMayDo } from '../api/use-may-do.ts'
import { ReasonDialog, type ReasonedAction } from '../dialogs/reason-dialog.tsx'
import { GuardedButton } from '../parts/guarded-button.tsx'
import { Instant } from '../parts/instant.tsx'
import { texts } from '../texts/texts.ts'

type Pause = Answers['providers']['list'][number]['paused']

/** Whether a provider is paused, by whom and why, and the button that pauses or resumes it. */
export function ProviderPause({ provider, paused }: { readonly provider: string; readonly paused: Pause }) {
  const [action, setAction] = useState<ReasonedAction | null>(null)
  const client = useQueryClient()
  const why = useMayDo('operate') ? null : texts.why.operate
  const done = (): void => {
    setAction(null)
    void client.invalidateQueries({ queryKey: ['providers'] })
    void client.invalidateQueries({ queryKey: ['overview'] })
  }
  const { pause, resume, pausedBy, waiting } = texts.providers
  return (
    <>
      {paused !== null && (
        <p role="status" className="basis-full">
          <strong className="text-wait">{texts.providers.paused}</strong> <Instant at={paused.since} />{' '}
          {pausedBy(paused.by, paused.reason)} · {waiting(paused.waiting)}
        </p>
      )}
      <GuardedButton
        text={paused === null ? pause : resume}
        why={why}
        onClick={() => setAction(paused === null ? pausing(provider) : resuming(provider))}
      />
      {action !== null && <ReasonDialog action={action} onDone={done} onClose={() => setAction(null)} />}
    </>
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
