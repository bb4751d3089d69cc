// Starts a replay or a backfill: counts the events first, then asks for a reason and a rate.

import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { operator } from '../api/operator-client.ts'
import { Modal } from '../dialogs/modal.tsx'
import { DialogButtons, ReasonField, reasonOf, useSingleAction } from '../dialogs/reason-dialog.tsx'
import type { toEventFilter } from '../events/event-search.ts'
import { HintedField } from '../parts/hinted-field.tsx'
import { ProblemNotice } from '../parts/problem-notice.tsx'
import { texts } from '../texts/texts.ts'

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
  const handler = 'filter' in target ? target.filter.handler : undefined
  return (
    <CountedReplayDialog
      title={handler === undefined ? texts.replay.title : texts.handlers.replayTitle(handler)}
      selection={[target, includeDone]}
      ask={(how) => operator.events.replay.mutate({ ...target, includeDone, ...how })}
      describe={(count) => (count === 0 ? texts.replay.zero : texts.replay.counted(count))}
      submit={texts.replay.submit}
      onClose={onClose}
    >
      <label className="flex items-start gap-2">
        <input type="checkbox" checked={includeDone} onChange={({ target: box }) => setIncludeDone(box.checked)} />
        {texts.replay.includeDone}
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
