// What an operator can do with a handler: pause it, give it stored events, and discard the tasks of a removed one.

import { useState } from 'react'
import { operator } from '../api/operator-client.ts'
import { useMayDo } from '../api/session.ts'
import { PauseControl } from '../dialogs/pause-control.tsx'
import { ReasonDialog } from '../dialogs/reason-dialog.tsx'
import { GuardedButton } from '../parts/buttons.tsx'
import { CountedReplayDialog } from '../replays/replay-dialog.tsx'
import { texts } from '../texts/texts.ts'
import type { ListedHandler } from './use-handlers.tsx'

/** Whether an operator has paused a handler, who and why, and the button that pauses or resumes it. */
export function HandlerPause({ handler: { name, paused, pending } }: { readonly handler: ListedHandler }) {
  return (
    <PauseControl
      kind="handlers"
      name={name}
      paused={paused}
      waiting={texts.handlers.waiting(pending)}
      pause={(reason) => operator.handlers.pause.mutate({ handler: name, reason })}
      resume={(reason) => operator.handlers.resume.mutate({ handler: name, reason })}
    />
  )
}

const DAY_MS = 86_400_000
const ALL = '0'

/** The button that gives a handler the events that were stored before. */
export function BackfillButton({ name }: { readonly name: string }) {
  const [isOpen, setOpen] = useState(false)
  const why = useMayDo('operate') ? null : texts.why.operate
  return (
    <>
      <GuardedButton text={texts.handlers.backfill} why={why} onClick={() => setOpen(true)} />
      {isOpen && <BackfillDialog handler={name} onClose={() => setOpen(false)} />}
    </>
  )
}

/** Counts the stored events that a handler may want, and gives it a task of each from a chosen time on. */
function BackfillDialog({ handler, onClose }: { readonly handler: string; readonly onClose: () => void }) {
  const [from, setFrom] = useState<string | null>(null)
  const { backfillTitle, backfillCounted, backfillZero, backfillSubmit } = texts.handlers
  const filter = from === null ? {} : { from }
  return (
    <CountedReplayDialog
      title={backfillTitle(handler)}
      selection={['backfill', handler, from]}
      ask={(how) => operator.handlers.backfill.mutate({ handler, filter, ...how })}
      describe={(count) => (count === 0 ? backfillZero : backfillCounted(count))}
      submit={backfillSubmit}
      onClose={onClose}
    >
      <SpanField onChoose={setFrom} />
    </CountedReplayDialog>
  )
}

/** How far back the stored events go. */
function SpanField({ onChoose }: { readonly onChoose: (from: string | null) => void }) {
  return (
    <label className="my-3 block">
      <span className="block font-semibold">{texts.events.time}</span>
      <select
        className="input"
        defaultValue={ALL}
        onChange={({ target: { value } }) =>
          onChoose(value === ALL ? null : new Date(Date.now() - Number(value) * DAY_MS).toISOString())
        }
      >
        {Object.entries(texts.handlers.backfillSpans).map(([days, text]) => (
          <option key={days} value={days}>
            {text}
          </option>
        ))}
      </select>
    </label>
  )
}

/** The button that settles all tasks of a handler that was removed from the setting. */
export function DiscardButton(props: { readonly handler: string; readonly onDiscarded: (said: string) => void }) {
  const { handler, onDiscarded } = props
  const [isOpen, setOpen] = useState(false)
  const why = useMayDo('operate') ? null : texts.why.operate
  const { discard, discardTitle, discardHint: hint, discardSubmit: submit, discarded } = texts.handlers
  const act = async (reason: string): Promise<void> => {
    const { count, held } = await discardAll(handler, reason)
    onDiscarded(discarded(handler, count, held))
  }
  return (
    <>
      <GuardedButton text={discard} why={why} onClick={() => setOpen(true)} />
      {isOpen && (
        <ReasonDialog
          action={{ title: discardTitle(handler), hint, submit, act }}
          changes={['handlers', 'overview', 'events']}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  )
}

/** Repeats the call until no task is left: one call takes some seconds at most. */
async function discardAll(handler: string, reason: string): Promise<{ readonly count: number; readonly held: number }> {
  let count = 0
  for (;;) {
    const { discarded, more, held } = await operator.handlers.discard.mutate({ handler, reason })
    count += discarded
    if (!more) return { count, held }
  }
}
