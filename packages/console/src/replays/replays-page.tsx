import { Link } from '@tanstack/react-router'
import { type Answers, operator } from '../api/operator-client.ts'
import { usePages } from '../api/use-pages.ts'
import { PageFrame } from '../frame/page-frame.tsx'
import type { Column } from '../parts/data-table.tsx'
import { Instant } from '../parts/instant.tsx'
import { LongId } from '../parts/long-id.tsx'
import { PagedTable } from '../parts/paged-table.tsx'
import { texts } from '../texts/texts.ts'

type ReplayRow = Answers['replays']['list']['items'][number]

const REFRESH_MS = 5_000

function numbers(id: 'matched' | 'started' | 'done' | 'failed', head: string): Column<ReplayRow> {
  const cell = (row: ReplayRow): string => texts.overview.count(row[id])
  return { id, head, className: 'w-24 hidden lg:table-cell tabular-nums', cell }
}

const COLUMNS: readonly Column<ReplayRow>[] = [
  {
    id: 'replay',
    head: texts.pages.replay,
    cell: ({ replayId }) => (
      <Link to="/replays/$id" params={{ id: replayId }} className="flex font-mono" aria-label={replayId}>
        <LongId id={replayId} />
      </Link>
    ),
  },
  {
    id: 'started-at',
    head: texts.replay.startedAt,
    className: 'w-32 sm:w-48',
    cell: ({ startedAt }) => <Instant at={startedAt} isShortWhenNarrow />,
  },
  { id: 'state', head: texts.events.state, className: 'w-24', cell: ({ state }) => texts.replay.state[state] },
  {
    id: 'by',
    head: texts.event.by,
    className: 'w-28 hidden sm:table-cell',
    cell: ({ by }) => <span title={by}>{by}</span>,
  },
  numbers('matched', texts.replay.matched),
  numbers('started', texts.replay.startedCount),
  numbers('done', texts.replay.done),
  numbers('failed', texts.replay.failed),
  {
    id: 'reason',
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
