import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { operator } from '../api/operator-client.ts'
import { useSingleAction } from '../api/use-single-action.ts'
import { Modal } from '../dialogs/modal.tsx'
import { DialogButtons } from '../dialogs/reason-dialog.tsx'
import type { toEventFilter } from '../events/event-search.ts'
import { HintedField } from '../forms/hinted-field.tsx'
import { ReasonField, reasonOf } from '../forms/reason-field.tsx'
import { ProblemNotice } from '../parts/problem-notice.tsx'
import { texts } from '../texts/texts.ts'

/** The events of a replay: a filter, or ids. */
export type ReplayTarget = { readonly filter: ReturnType<typeof toEventFilter> } | { readonly ids: string[] }

interface ReplayDialogProps {
  readonly target: ReplayTarget
  /** Whether done events are included by default. */
  readonly includesDone: boolean
  readonly onClose: () => void
}

/** Counts the events of a replay first, asks for a reason and a rate, and starts it once. */
export function ReplayDialog({ target, includesDone, onClose }: ReplayDialogProps) {
  const [includeDone, setIncludeDone] = useState(includesDone)
  const navigate = useNavigate()
  const counting = useQuery({
    queryKey: ['replays', 'count', target, includeDone],
    queryFn: () => operator.events.replay.mutate({ ...target, includeDone, dryRun: true, reason: 'dry run' }),
    gcTime: 0,
    retry: false,
  })
  const starting = useSingleAction({
    act: (asked: { reason: string; ratePerSecond?: number }) =>
      operator.events.replay.mutate({ ...target, includeDone, ...asked }),
    onDone: ({ replayId }) => {
      onClose()
      if (replayId !== null) void navigate({ to: '/replays/$id', params: { id: replayId } })
    },
  })
  const count = counting.data?.matched
  const isBusy = starting.isBusy || count === undefined || count === 0
  const error = starting.error ?? counting.error
  return (
    <Modal title={texts.replay.title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          const form = event.currentTarget
          if (!isBusy) starting.start({ reason: reasonOf(form), ...rateOf(form) })
        }}
      >
        <p role="status" className="font-semibold">
          {count === undefined ? texts.replay.counting : describeCount(count)}
        </p>
        <ReasonField />
        <RateField />
        <label className="flex items-start gap-2">
          <input type="checkbox" checked={includeDone} onChange={({ target: box }) => setIncludeDone(box.checked)} />
          {texts.replay.includeDone}
        </label>
        {error !== null && <ProblemNotice error={error} />}
        <DialogButtons submit={texts.replay.submit(count ?? 0)} isBusy={isBusy} onClose={onClose} />
      </form>
    </Modal>
  )
}

function describeCount(count: number): string {
  return count === 0 ? texts.replay.zero : texts.replay.counted(count)
}

function RateField() {
  return (
    <HintedField
      label={texts.replay.rate}
      hint={texts.replay.rateHint}
      name="rate"
      type="number"
      min={1}
      max={10_000}
      className="input w-28"
    />
  )
}

function rateOf(form: HTMLFormElement): { ratePerSecond?: number } {
  const rate = String(new FormData(form).get('rate') ?? '')
  return rate === '' ? {} : { ratePerSecond: Number(rate) }
}
