import { Link, useParams } from '@tanstack/react-router'
import { type Answers, operator } from '../api/operator-client.ts'
import { useLive } from '../api/use-answer.ts'
import { useSingleAction } from '../dialogs/reason-dialog.tsx'
import { PageFrame } from '../frame/page-frame.tsx'
import { GuardedButton } from '../parts/buttons.tsx'
import type { Column } from '../parts/data-table.tsx'
import { PagedTable, usePages } from '../parts/paged-table.tsx'
import { ProblemNotice } from '../parts/problem-notice.tsx'
import { EmptyNotice, Facts, Read } from '../parts/section.tsx'
import { Ago, Instant, LongId } from '../parts/values.tsx'
import { texts } from '../texts/texts.ts'

type ReplayRow = Answers['replays']['list']['items'][number]

const REFRESH_MS = 5_000

function numbers(id: 'matched' | 'started' | 'done' | 'failed', head: string): Column<ReplayRow> {
  return { head, className: 'w-28 hidden lg:table-cell tabular-nums', cell: (row) => texts.count(row[id]) }
}

const COLUMNS: readonly Column<ReplayRow>[] = [
  {
    head: 'Replay',
    cell: ({ replayId }) => (
      <Link to="/replays/$id" params={{ id: replayId }} className="flex font-mono" aria-label={replayId}>
        <LongId id={replayId} />
      </Link>
    ),
  },
  { head: 'Started', className: 'w-26', cell: ({ startedAt }) => <Ago at={startedAt} /> },
  { head: 'State', className: 'w-24', cell: ({ state }) => state },
  { head: 'By', className: 'w-28 hidden sm:table-cell', cell: ({ by }) => by },
  numbers('matched', 'Selected'),
  numbers('started', 'Due again'),
  numbers('done', 'Done'),
  numbers('failed', 'Dead again'),
  { head: 'Reason', className: 'hidden sm:table-cell', cell: ({ reason }) => reason },
]

export function ReplaysPage() {
  const replays = usePages(['replays', 'list'], (page) => operator.replays.list.query(page), REFRESH_MS)
  return (
    <PageFrame title="Replays">
      <p className="mb-2 text-quiet">The replays of all operators, newest first.</p>
      <PagedTable
        caption="Replays"
        columns={COLUMNS}
        keyOf={({ replayId }) => replayId}
        query={replays}
        empty={
          <EmptyNotice
            title="No replay yet"
            hint="Filter the events, then choose “Replay these…”. The events are counted first. Or count them with:"
            command="npm run oncehook -- events replay --state dead --dry-run"
          />
        }
      />
    </PageFrame>
  )
}

const PROGRESS_REFRESH_MS = 1_000

export function ReplayPage() {
  const { id: replayId } = useParams({ from: '/replays/$id' })
  const read = () => operator.replays.get.query({ replayId })
  const query = useLive(['replays', 'get', replayId], read, PROGRESS_REFRESH_MS)
  const cancelling = useSingleAction(
    (id: string) => operator.replays.cancel.mutate({ replayId: id }),
    () => void query.refetch(),
  )
  return (
    <PageFrame title="Replay">
      <Read query={query}>
        {(replay) => (
          <>
            <p role="status">
              <strong>{replay.state}</strong> · {toProgress(replay)}
            </p>
            <progress
              className="my-2 h-3 w-full max-w-xl"
              aria-label={toProgress(replay)}
              max={replay.matched || 1}
              value={replay.started}
            />
            {replay.state === 'running' && (
              <p className="my-2">
                <GuardedButton text="Cancel the replay" onClick={() => cancelling.start(replayId)} />
              </p>
            )}
            {cancelling.error !== null && <ProblemNotice error={cancelling.error} />}
            <Facts
              items={[
                ['By', replay.by],
                ['Reason', replay.reason],
                ['Started', <Instant key="s" at={replay.startedAt} />],
                ['Ended', replay.finishedAt && <Instant key="f" at={replay.finishedAt} />],
                ['Selected', replay.matched],
                ['Due again', replay.started],
                ['Done', replay.done],
                ['Dead again', replay.failed],
                ['Body not readable', replay.notRead || null],
              ]}
            />
          </>
        )}
      </Read>
    </PageFrame>
  )
}

function toProgress({ started, matched }: Answers['replays']['get']): string {
  return `${texts.number(started)} of ${texts.plural(matched, 'event', 'events')} due again`
}
