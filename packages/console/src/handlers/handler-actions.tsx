// What an operator can do with a handler: give it stored events, and discard the tasks of a removed one.

import { useState } from 'react'
import { operator } from '../api/operator-client.ts'
import { ActionButton } from '../dialogs/reason-dialog.tsx'
import { Choice } from '../parts/choice.tsx'
import { CountedReplayDialog } from '../replays/replay-dialog.tsx'
import { texts } from '../texts/texts.ts'

const DAY_MS = 86_400_000
/** By their days. */
const SPANS = { 1: 'Last 24 hours', 7: 'Last 7 days', 30: 'Last 30 days' }

/** Counts the stored events that a handler may want, and gives it a task of each from a chosen time on. */
export function BackfillDialog({ handler, onClose }: { readonly handler: string; readonly onClose: () => void }) {
  const [days, setDays] = useState<string>()
  const [openedAt] = useState(Date.now)
  const filter = days === undefined ? {} : { from: new Date(openedAt - Number(days) * DAY_MS).toISOString() }
  return (
    <CountedReplayDialog
      title={`Give stored events to ${handler}`}
      selection={['backfill', handler, filter]}
      ask={(how) => operator.handlers.backfill.mutate({ handler, filter, ...how })}
      describe={(count) =>
        count === 0
          ? 'It wants no stored event of this time.'
          : `${texts.plural(count, 'stored record', 'stored records')} will be examined, one for each event and handler that has it. Events that it wants become tasks, unless it has one already.`
      }
      submit={(count) => `Examine ${texts.plural(count, 'event', 'events')}`}
      onClose={onClose}
    >
      <p className="my-3">
        <strong aria-hidden="true" className="block font-semibold">
          Received
        </strong>
        <Choice label="Received" any="Any time" chosen={days} options={Object.entries(SPANS)} onChoose={setDays} />
      </p>
    </CountedReplayDialog>
  )
}

/** The button that settles all tasks of a handler that was removed from the setting. */
export function DiscardButton(props: { readonly handler: string; readonly onDiscarded: (said: string) => void }) {
  const { handler, onDiscarded } = props
  // One call takes some seconds at most.
  const act = async (reason: string): Promise<void> => {
    for (let count = 0; ; ) {
      const { discarded, more, held } = await operator.handlers.discard.mutate({ handler, reason })
      count += discarded
      if (more) continue
      const rest = held === 0 ? '' : ` A process holds ${held} more: discard again when their claims have ended.`
      return onDiscarded(`Discarded ${texts.plural(count, 'task', 'tasks')} of ${handler}.${rest}`)
    }
  }
  return (
    <ActionButton
      text="Discard its tasks…"
      title={`Discard the tasks of ${handler}`}
      hint="Its pending and dead tasks become unhandled and are never sent. First make sure that no gateway has the handler in its setting."
      submit="Discard the tasks"
      act={act}
      changes={['handlers', 'overview', 'events']}
    />
  )
}
