import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type Answers, operator } from '../api/operator-client.ts'
import { CloseRow, DialogFacts, Modal } from '../dialogs/modal.tsx'
import { PageFrame } from '../frame/page-frame.tsx'
import { BusyButton } from '../parts/buttons.tsx'
import type { Column } from '../parts/data-table.tsx'
import { PagedTable, usePages } from '../parts/paged-table.tsx'
import { QueryProblem } from '../parts/problem-notice.tsx'
import { Ago, Instant } from '../parts/values.tsx'
import { texts } from '../texts/texts.ts'

type Entry = Answers['audit']['list']['items'][number]

const keyOf = ({ id }: Entry): string => id

function toColumns(show: (entry: Entry) => void): readonly Column<Entry>[] {
  return [
    { head: texts.event.at, className: 'w-26', cell: ({ at }) => <Ago at={at} /> },
    { head: texts.event.by, className: 'w-24 sm:w-40', cell: ({ by }) => <span title={by}>{by}</span> },
    {
      head: texts.audit.action,
      className: 'sm:w-48',
      cell: (entry) => (
        <>
          <button type="button" className="max-w-full truncate text-link underline" onClick={() => show(entry)}>
            {entry.action}
          </button>
          {!entry.isInChain && <strong className="block text-bad">{texts.audit.notInChain}</strong>}
        </>
      ),
    },
    {
      head: texts.action.reason,
      className: 'hidden sm:table-cell',
      cell: ({ reason }) => <span title={reason ?? undefined}>{reason ?? ''}</span>,
    },
    {
      head: texts.audit.details,
      className: 'hidden md:table-cell',
      cell: ({ details }) => <code className="font-mono">{toVisibleJson(details)}</code>,
    },
  ]
}

/** Who did what, when and why, and whether the log is unchanged. */
export function AuditPage() {
  const audit = useAudit()
  const [shown, setShown] = useState<Entry | null>(null)
  return (
    <PageFrame title={texts.pages.audit}>
      <Verification />
      <PagedTable
        caption={texts.pages.audit}
        columns={toColumns(setShown)}
        keyOf={keyOf}
        query={audit}
        empty={texts.audit}
      />
      {shown !== null && <EntryDialog entry={shown} onClose={() => setShown(null)} />}
    </PageFrame>
  )
}

/** Senders choose the ids in details. What shows nothing, or turns the text around, is an escape of JSON here. */
export function toVisibleJson(details: Entry['details'], indent = 0): string {
  const toEscape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(details, null, indent).replace(/[\p{Cf}\p{Zl}\p{Zp}]/gu, (hidden) =>
    hidden.split('').map(toEscape).join(''),
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

/** All of an entry of the audit log. Rows cut what is long, and a narrow window has no room for some of it. */
function EntryDialog(props: {
  readonly entry: Answers['audit']['list']['items'][number]
  readonly onClose: () => void
}) {
  const { entry, onClose } = props
  return (
    <Modal title={texts.audit.entry} onClose={onClose}>
      <DialogFacts
        items={[
          [texts.event.at, <Instant key="at" at={entry.at} />],
          [texts.event.by, entry.by],
          [texts.audit.action, entry.action],
          [texts.action.reason, entry.reason ?? texts.frame.none],
        ]}
      />
      {!entry.isInChain && <p className="mt-3 text-bad">{texts.audit.notInChainHint}</p>}
      <h3 className="mt-3 font-semibold">{texts.audit.details}</h3>
      <pre className="mt-1 bg-raised p-2 font-mono break-all whitespace-pre-wrap">
        {toVisibleJson(entry.details, 2)}
      </pre>
      <CloseRow onClose={onClose} />
    </Modal>
  )
}

function useAudit() {
  return usePages({ key: ['audit', 'list'], read: (page) => operator.audit.list.query(page) })
}
