import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type EventDetails, operator } from '../api/operator-client.ts'
import { useMayDo } from '../api/session.ts'
import { ReasonDialog, type ReasonedAction } from '../dialogs/reason-dialog.tsx'
import { useKeys } from '../frame/use-keys.ts'
import { BusyButton, GuardedButton } from '../parts/buttons.tsx'
import { ProblemNotice } from '../parts/problem-notice.tsx'
import { ReplayDialog } from '../replays/replay-dialog.tsx'
import { texts } from '../texts/texts.ts'

type Asked = 'replay' | 'close' | 'release'

/** The actions for one event. An action that is not possible now says why. */
export function EventActions({ event }: { readonly event: EventDetails }) {
  const [asked, setAsked] = useState<Asked | null>(null)
  const client = useQueryClient()
  const done = (): void => {
    setAsked(null)
    void client.invalidateQueries({ queryKey: ['events'] })
  }
  const why = useReasonsAgainst(event)
  useKeys({
    ...(why.replay === null ? { r: () => setAsked('replay') } : {}),
    ...(why.close === null ? { c: () => setAsked('close') } : {}),
  })
  const close = (): void => setAsked(null)
  return (
    <section aria-label={texts.event.actions} className="mt-3">
      <div className="flex flex-wrap gap-2">
        <GuardedButton isMain text={texts.event.replay} why={why.replay} onClick={() => setAsked('replay')} />
        <GuardedButton text={texts.event.close} why={why.close} onClick={() => setAsked('close')} />
        <GuardedButton text={texts.event.release} why={why.release} onClick={() => setAsked('release')} />
        <Reverify id={event.id} />
      </div>
      {asked === 'replay' && (
        <ReplayDialog target={{ ids: [event.id] }} includesDone={event.state === 'done'} onClose={done} />
      )}
      {asked === 'close' && <ReasonDialog action={closing(event.id)} changes={['events']} onClose={close} />}
      {asked === 'release' && <ReasonDialog action={releasing(event.id)} changes={['events']} onClose={close} />}
    </section>
  )
}

function useReasonsAgainst({ state }: EventDetails): Readonly<Record<Asked, string | null>> {
  const role = useMayDo('operate') ? null : texts.why.operate
  return {
    replay: role ?? (state === 'processing' ? texts.why.busy : null),
    close: role ?? (state === 'dead' ? null : texts.why.notDead),
    release: role ?? (state === 'processing' ? null : texts.why.notProcessing),
  }
}

function closing(id: string): ReasonedAction {
  const { closeTitle: title, closeHint: hint, closeSubmit: submit } = texts.event
  return { title, hint, submit, act: (reason) => operator.events.close.mutate({ id, reason }) }
}

function releasing(id: string): ReasonedAction {
  const { releaseTitle: title, releaseHint: hint, releaseSubmit: submit } = texts.event
  return { title, hint, submit, act: (reason) => operator.events.release.mutate({ id, reason }) }
}

function Reverify({ id }: { readonly id: string }) {
  const checking = useMutation({ mutationFn: () => operator.events.reverify.query({ id }) })
  const { data, error } = checking
  return (
    <>
      <BusyButton isBusy={checking.isPending} onClick={() => checking.mutate()}>
        {texts.event.reverify}
      </BusyButton>
      <div role="status" className="basis-full">
        {data?.valid === true && <p className="text-good">{texts.event.valid(data.secretId ?? '')}</p>}
        {data?.valid === false && <p className="text-bad">{texts.event.invalid(data.failure ?? '')}</p>}
      </div>
      {error !== null && <ProblemNotice error={error} />}
    </>
  )
}
