import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { type Answers, operator } from '../api/operator-client.ts'
import { BusyButton } from '../forms/busy-button.tsx'
import { PageFrame } from '../frame/page-frame.tsx'
import { QueryProblem } from '../frame/query-problem.tsx'
import type { Column } from '../parts/data-table.tsx'
import { Instant } from '../parts/instant.tsx'
import { PagedTable } from '../parts/paged-table.tsx'
import { texts } from '../texts/texts.ts'
import { EntryDialog } from './entry-dialog.tsx'
import { useAudit } from './use-audit.ts'

type Entry = Answers['audit']['list']['items'][number]

const keyOf = ({ id }: Entry): string => id

function useColumns(show: (entry: Entry) => void): readonly Column<Entry>[] {
  return useMemo(
    () => [
      {
        id: 'at',
        head: texts.event.at,
        className: 'w-32 sm:w-48',
        cell: ({ at }) => <Instant at={at} isShortWhenNarrow />,
      },
      { id: 'by', head: texts.event.by, className: 'w-24 sm:w-40', cell: ({ by }) => <span title={by}>{by}</span> },
      {
        id: 'action',
        head: texts.audit.action,
        className: 'sm:w-48',
        cell: (entry) => (
          <button type="button" className="max-w-full truncate text-link underline" onClick={() => show(entry)}>
            {entry.action}
          </button>
        ),
      },
      {
        id: 'reason',
        head: texts.action.reason,
        className: 'hidden sm:table-cell',
        cell: ({ reason }) => <span title={reason ?? undefined}>{reason ?? ''}</span>,
      },
      {
        id: 'details',
        head: texts.audit.details,
        className: 'hidden md:table-cell',
        cell: ({ details }) => <code className="font-mono">{JSON.stringify(details)}</code>,
      },
    ],
    [show],
  )
}

/** Who did what, when and why, and whether the log is unchanged. */
export function AuditPage() {
  const audit = useAudit()
  const [shown, setShown] = useState<Entry | null>(null)
  const columns = useColumns(setShown)
  return (
    <PageFrame title={texts.pages.audit}>
      <Verification />
      <PagedTable caption={texts.pages.audit} columns={columns} keyOf={keyOf} query={audit} empty={texts.audit} />
      {shown !== null && <EntryDialog entry={shown} onClose={() => setShown(null)} />}
    </PageFrame>
  )
}

/** Checks the whole chain, part by part. */
async function verifyAll(): Promise<{
  readonly isUnchanged: boolean
  readonly entries: number
  readonly brokenAt: string | null
}> {
  let entries = 0
  let part = await operator.audit.verify.query({})
  for (;;) {
    entries += part.entries
    if (!part.ok || part.next === null) return { isUnchanged: part.ok, entries, brokenAt: part.brokenAt }
    part = await operator.audit.verify.query({ after: part.next })
  }
}

function Verification() {
  const { data, error, isFetching, refetch } = useQuery({
    ...{ queryKey: ['audit', 'verify'], queryFn: verifyAll },
    ...{ staleTime: Number.POSITIVE_INFINITY, gcTime: 0 },
  })
  return (
    <div className="my-2 flex flex-wrap items-center gap-3">
      <BusyButton isBusy={isFetching} onClick={() => void refetch()}>
        {texts.audit.verify}
      </BusyButton>
      <span role="status" className={data?.isUnchanged === false ? 'text-bad' : 'text-good'}>
        {isFetching && texts.audit.verifying}
        {!isFetching && data !== undefined && sayVerified(data)}
      </span>
      <QueryProblem error={error} />
    </div>
  )
}

function sayVerified({ isUnchanged, entries, brokenAt }: Awaited<ReturnType<typeof verifyAll>>): string {
  return isUnchanged ? texts.audit.unchanged(entries) : texts.audit.broken(entries, brokenAt)
}
