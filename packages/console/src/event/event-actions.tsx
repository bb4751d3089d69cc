import { useMutation } from '@tanstack/react-query'
import { type EventDetails, operator } from '../api/operator-client.ts'
import { ActionButton } from '../dialogs/reason-dialog.tsx'
import { BusyButton } from '../parts/buttons.tsx'
import { ProblemNotice } from '../parts/problem-notice.tsx'
import { ReplayButton } from '../replays/replay-dialog.tsx'

const CHANGES = ['events']

/** The actions for one event. An action that is not possible now says why. */
export function EventActions({ event: { id, state } }: { readonly event: EventDetails }) {
  return (
    <section aria-label="Actions" className="mt-3 flex flex-wrap gap-2">
      <ReplayButton
        isMain
        text="Replay…"
        why={state === 'processing' ? 'The event is being processed.' : null}
        state={state}
        toTarget={() => ({ ids: [id] })}
      />
      <ActionButton
        text="Close…"
        letter="c"
        why={state === 'dead' ? null : 'Only a dead event can be closed.'}
        title="Close this dead event"
        hint="No delivery can revive a closed event. A replay of this event, or of closed events, still can."
        submit="Close the event"
        act={(reason) => operator.events.close.mutate({ id, reason })}
        changes={CHANGES}
      />
      <ActionButton
        text="Release…"
        why={state === 'processing' ? null : 'Only an event that is being processed can be released.'}
        title="Release this event"
        hint="The event becomes due at once. The process that holds it can no longer change it."
        submit="Release the event"
        act={(reason) => operator.events.release.mutate({ id, reason })}
        changes={CHANGES}
      />
      <Reverify id={id} />
    </section>
  )
}

function Reverify({ id }: { readonly id: string }) {
  const checking = useMutation({ mutationFn: () => operator.events.reverify.query({ id }) })
  const { data, error } = checking
  return (
    <>
      <BusyButton isBusy={checking.isPending} onClick={() => checking.mutate()}>
        Check the signature again
      </BusyButton>
      <div role="status" className="basis-full">
        {data?.valid === true && (
          <p className="text-good">The signature is valid now, with the secret “{data.secretId}”.</p>
        )}
        {data?.valid === false && <p className="text-bad">The signature is not valid now: {data.failure}.</p>}
      </div>
      {error !== null && <ProblemNotice error={error} />}
    </>
  )
}
