// Starts a replay or a backfill: counts the events first, then asks for a reason and a rate.

import { useNavigate } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { operator } from '../api/operator-client.ts'
import { useOnce } from '../api/use-answer.ts'
import { DialogButton } from '../dialogs/dialog-button.tsx'
import { ReasonDialog } from '../dialogs/reason-dialog.tsx'
import type { toEventFilter } from '../events/event-search.ts'
import type { GuardedButtonProps } from '../parts/buttons.tsx'
import { HintedField } from '../parts/hinted-field.tsx'
import { ProblemNotice } from '../parts/problem-notice.tsx'
import { texts } from '../texts/texts.ts'

export type ReplayTarget = { readonly filter: ReturnType<typeof toEventFilter> } | { readonly ids: string[] }

interface ReplayButtonProps extends GuardedButtonProps {
  /** Of the events that are shown. Done ones are included if they are asked for. */
  readonly state: string | undefined
  readonly toTarget: () => ReplayTarget
}

/** The button of a replay. */
export function ReplayButton({ state, toTarget, ...button }: ReplayButtonProps) {
  const draw = (close: () => void) => <ReplayDialog target={toTarget()} state={state} onClose={close} />
  return <DialogButton {...button} letter="r" draw={draw} />
}

interface ReplayDialogProps extends Pick<ReplayButtonProps, 'state'> {
  readonly target: ReplayTarget
  readonly onClose: () => void
}

function ReplayDialog({ target, state, onClose }: ReplayDialogProps) {
  const [includeDone, setIncludeDone] = useState(state === 'done')
  const handler = 'filter' in target ? target.filter.handler : undefined
  return (
    <CountedReplayDialog
      title={handler === undefined ? 'Replay events' : `Replay events for ${handler}`}
      selection={[target, includeDone]}
      ask={(how) => operator.events.replay.mutate({ ...target, includeDone, ...how })}
      describe={(count) =>
        count === 0
          ? 'No event would be due again. Done events are left out unless you include them.'
          : `${texts.plural(count, 'event', 'events')} will be due again.`
      }
      submit={(count) => `Replay ${texts.plural(count, 'event', 'events')}`}
      onClose={onClose}
    >
      <label className="flex items-baseline gap-2">
        <input type="checkbox" checked={includeDone} onChange={({ target: box }) => setIncludeDone(box.checked)} />
        Include done events (no effect happens twice)
      </label>
    </CountedReplayDialog>
  )
}

/** How a replay is asked for. A dry run only counts. */
interface AskedReplay {
  readonly reason: string
  readonly ratePerSecond?: number
  readonly dryRun?: true
}

interface CountedReplayProps {
  readonly title: string
  /** What it selects, as a key of the cache: another selection is counted again. */
  readonly selection: unknown
  readonly ask: (how: AskedReplay) => Promise<{ readonly replayId: string | null; readonly matched: number }>
  readonly describe: (count: number) => string
  readonly submit: (count: number) => string
  /** The fields that change the selection. */
  readonly children: ReactNode
  readonly onClose: () => void
}

/** Counts the events of a replay first, asks for a reason and a rate, starts it once, and shows its progress. */
export function CountedReplayDialog(props: CountedReplayProps) {
  const { title, selection, ask, describe, submit, children, onClose } = props
  const navigate = useNavigate()
  const { data, error } = useOnce(['replays', 'count', selection], () => ask({ dryRun: true, reason: 'dry run' }))
  const act = async (reason: string, form: FormData): Promise<void> => {
    const ratePerSecond = Number(form.get('rate'))
    const { replayId } = await ask({ reason, ...(ratePerSecond === 0 ? {} : { ratePerSecond }) })
    if (replayId !== null) void navigate({ to: '/replays/$id', params: { id: replayId } })
  }
  const hint = (
    <p role="status" className="font-semibold">
      {data === undefined ? 'Counting…' : describe(data.matched)}
    </p>
  )
  const fields = (
    <>
      <HintedField
        {...{ name: 'rate', type: 'number', min: 1, max: 10_000, className: 'input w-28' }}
        label="Events per second"
        hint="empty: as fast as possible"
      />
      {children}
      {error !== null && <ProblemNotice error={error} />}
    </>
  )
  const count = data?.matched ?? 0
  return <ReasonDialog {...{ title, hint, fields, act, onClose }} submit={submit(count)} isBusy={count === 0} />
}
