import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useSingleAction } from '../api/use-single-action.ts'
import { Modal } from '../dialogs/modal.tsx'
import { DialogButtons } from '../dialogs/reason-dialog.tsx'
import { HintedField } from '../forms/hinted-field.tsx'
import { ReasonField, reasonOf } from '../forms/reason-field.tsx'
import { ProblemNotice } from '../parts/problem-notice.tsx'
import { texts } from '../texts/texts.ts'

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
  const counting = useQuery({
    queryKey: ['replays', 'count', selection],
    queryFn: () => ask({ dryRun: true, reason: 'dry run' }),
    gcTime: 0,
    retry: false,
  })
  const starting = useSingleAction({
    act: ask,
    onDone: ({ replayId }) => {
      onClose()
      if (replayId !== null) void navigate({ to: '/replays/$id', params: { id: replayId } })
    },
  })
  const count = counting.data?.matched
  const isBusy = starting.isBusy || count === undefined || count === 0
  const error = starting.error ?? counting.error
  return (
    <Modal title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          const form = event.currentTarget
          if (!isBusy) starting.start({ reason: reasonOf(form), ...rateOf(form) })
        }}
      >
        <p role="status" className="font-semibold">
          {count === undefined ? texts.replay.counting : describe(count)}
        </p>
        <ReasonField />
        <RateField />
        {children}
        {error !== null && <ProblemNotice error={error} />}
        <DialogButtons submit={submit(count ?? 0)} isBusy={isBusy} onClose={onClose} />
      </form>
    </Modal>
  )
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
