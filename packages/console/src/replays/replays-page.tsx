import { Link } from '@tanstack/react-router'
import { useAudit } from '../audit/use-audit.ts'
import { PageFrame } from '../frame/page-frame.tsx'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { EmptyNotice } from '../parts/empty-notice.tsx'
import { Instant } from '../parts/instant.tsx'
import { MoreButton } from '../parts/more-button.tsx'
import { ProblemNotice } from '../parts/problem-notice.tsx'
import { texts } from '../texts.ts'

interface ReplayRow {
  readonly replayId: string
  readonly at: string
  readonly by: string
  readonly reason: string
  readonly matched: string
}

const COLUMNS: readonly Column<ReplayRow>[] = [
  {
    id: 'replay',
    head: texts.pages.replay,
    cell: ({ replayId }) => (
      <Link to="/replays/$id" params={{ id: replayId }} className="font-mono">
        {replayId}
      </Link>
    ),
  },
  {
    id: 'at',
    head: texts.replay.startedAt,
    className: 'w-32 sm:w-48',
    cell: ({ at }) => <Instant at={at} isShortWhenNarrow />,
  },
  { id: 'by', head: texts.event.by, className: 'w-32 hidden sm:table-cell', cell: ({ by }) => by },
  { id: 'matched', head: texts.replay.matched, className: 'w-24 hidden sm:table-cell', cell: ({ matched }) => matched },
  { id: 'reason', head: texts.action.reason, cell: ({ reason }) => <span title={reason}>{reason}</span> },
]

const keyOf = ({ replayId }: ReplayRow): string => replayId

/** The replays that the audit log names, newest first. */
export function ReplaysPage() {
  const audit = useAudit()
  const rows = audit.data?.pages
    .flatMap(({ items }) => items)
    .flatMap(({ action, at, by, reason, details }) => {
      const { replayId, matched } = details
      if (action !== 'events.replay' || typeof replayId !== 'string') return []
      return [{ replayId, at, by, reason: reason ?? '', matched: String(matched) }]
    })
  return (
    <PageFrame title={texts.pages.replays}>
      <p className="mb-2 text-quiet">{texts.replay.listHint}</p>
      {audit.error !== null && <ProblemNotice error={audit.error} />}
      {rows !== undefined && rows.length > 0 && (
        <DataTable caption={texts.pages.replays} columns={COLUMNS} items={rows} keyOf={keyOf} />
      )}
      {rows?.length === 0 && <EmptyNotice title={texts.replay.emptyTitle} hint={texts.replay.emptyHint} />}
      <MoreButton query={audit} />
    </PageFrame>
  )
}
