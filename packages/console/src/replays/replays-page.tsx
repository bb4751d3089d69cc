import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { type Answers, operator } from '../api/operator-client.ts'
import { useMayDo } from '../api/session.ts'
import { useSingleAction } from '../dialogs/reason-dialog.tsx'
import { PageFrame } from '../frame/page-frame.tsx'
import { GuardedButton } from '../parts/buttons.tsx'
import type { Column } from '../parts/data-table.tsx'
import { PagedTable, usePages } from '../parts/paged-table.tsx'
import { ProblemNotice, QueryProblem } from '../parts/problem-notice.tsx'
import { Facts, Loading } from '../parts/section.tsx'
import { Ago, Instant, LongId } from '../parts/values.tsx'
import { texts } from '../texts/texts.ts'

type ReplayRow = Answers['replays']['list']['items'][number]

const REFRESH_MS = 5_000

function numbers(id: 'matched' | 'started' | 'done' | 'failed', head: string): Column<ReplayRow> {
  const cell = (row: ReplayRow): string => texts.overview.count(row[id])
  return { head, className: 'w-24 hidden lg:table-cell tabular-nums', cell }
}

const COLUMNS: readonly Column<ReplayRow>[] = [
  {
    head: texts.pages.replay,
    cell: ({ replayId }) => (
      <Link to="/replays/$id" params={{ id: replayId }} className="flex font-mono" aria-label={replayId}>
        <LongId id={replayId} />
      </Link>
    ),
  },
  { head: texts.replay.startedAt, className: 'w-26', cell: ({ startedAt }) => <Ago at={startedAt} /> },
  { head: texts.events.state, className: 'w-24', cell: ({ state }) => texts.replay.state[state] },
  { head: texts.event.by, className: 'w-28 hidden sm:table-cell', cell: ({ by }) => <span title={by}>{by}</span> },
  numbers('matched', texts.replay.matched),
  numbers('started', texts.replay.startedCount),
  numbers('done', texts.replay.done),
  numbers('failed', texts.replay.failed),
  {
    head: texts.action.reason,
    className: 'hidden sm:table-cell',
    cell: ({ reason }) => <span title={reason}>{reason}</span>,
  },
]

const keyOf = ({ replayId }: ReplayRow): string => replayId

/** The replays of all operators with their progress, newest first. */
export function ReplaysPage() {
  const replays = usePages({
    ...{ key: ['replays', 'list'], refreshMs: REFRESH_MS },
    read: (page) => operator.replays.list.query(page),
  })
  return (
    <PageFrame title={texts.pages.replays}>
      <p className="mb-2 text-quiet">{texts.replay.listHint}</p>
      <PagedTable caption={texts.pages.replays} columns={COLUMNS} keyOf={keyOf} query={replays} empty={texts.replay} />
    </PageFrame>
  )
}

const PROGRESS_REFRESH_MS = 1_000

export function ReplayPage() {
  const { id: replayId } = useParams({ from: '/replays/$id' })
  const { data, error, refetch } = useQuery({
    queryKey: ['replays', 'get', replayId],
    queryFn: () => operator.replays.get.query({ replayId }),
    refetchInterval: PROGRESS_REFRESH_MS,
  })
  return (
    <PageFrame title={texts.pages.replay}>
      <QueryProblem error={error} retry={() => void refetch()} />
      {data === undefined && error === null && <Loading />}
      {data !== undefined && <Progress replayId={replayId} replay={data} onCancelled={() => void refetch()} />}
    </PageFrame>
  )
}

function Progress(props: {
  readonly replayId: string
  readonly replay: Answers['replays']['get']
  readonly onCancelled: () => void
}) {
  const { replayId, replay, onCancelled } = props
  const mayOperate = useMayDo('operate')
  const cancelling = useSingleAction({
    act: (id: string) => operator.replays.cancel.mutate({ replayId: id }),
    onDone: onCancelled,
  })
  const progress = texts.replay.progress(replay.started, replay.matched)
  return (
    <>
      <p role="status">
        <strong>{texts.replay.state[replay.state]}</strong> · {progress}
      </p>
      <progress
        className="my-2 h-3 w-full max-w-xl"
        aria-label={progress}
        max={replay.matched || 1}
        value={replay.started}
      />
      {replay.state === 'running' && (
        <p className="my-2">
          <GuardedButton
            text={texts.replay.cancel}
            why={mayOperate ? null : texts.why.operate}
            onClick={() => cancelling.start(replayId)}
          />
        </p>
      )}
      {cancelling.error !== null && <ProblemNotice error={cancelling.error} />}
      <Facts
        items={[
          [texts.event.by, replay.by],
          [texts.action.reason, replay.reason],
          [texts.replay.startedAt, <Instant key="s" at={replay.startedAt} />],
          [texts.replay.finishedAt, replay.finishedAt === null ? null : <Instant key="f" at={replay.finishedAt} />],
          [texts.replay.matched, replay.matched],
          [texts.replay.startedCount, replay.started],
          [texts.replay.done, replay.done],
          [texts.replay.failed, replay.failed],
          [texts.replay.notRead, replay.notRead === 0 ? null : replay.notRead],
        ]}
      />
    </>
  )
}
