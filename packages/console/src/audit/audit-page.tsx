import { useState } from 'react'
import { type Answers, operator } from '../api/operator-client.ts'
import { useOnce } from '../api/use-answer.ts'
import { Modal } from '../dialogs/modal.tsx'
import { PageFrame } from '../frame/page-frame.tsx'
import { BusyButton } from '../parts/buttons.tsx'
import type { Column } from '../parts/data-table.tsx'
import { PagedTable, usePages } from '../parts/paged-table.tsx'
import { QueryProblem } from '../parts/problem-notice.tsx'
import { EmptyNotice, Facts } from '../parts/section.tsx'
import { Ago, Instant } from '../parts/values.tsx'
import { texts } from '../texts/texts.ts'

type Entry = Answers['audit']['list']['items'][number]

/** Who did what, when and why, and whether the log is unchanged. */
export function AuditPage() {
  const query = usePages(['audit', 'list'], (page) => operator.audit.list.query(page))
  const [shown, setShown] = useState<Entry | null>(null)
  const hint = 'Each action on this page or with the command “oncehook” adds an entry.'
  return (
    <PageFrame title="Audit log">
      <Verification />
      <PagedTable
        caption="Audit log"
        columns={toColumns(setShown)}
        keyOf={({ id }) => id}
        query={query}
        empty={<EmptyNotice title="No entries yet" hint={hint} />}
      />
      {shown !== null && <EntryDialog entry={shown} onClose={() => setShown(null)} />}
    </PageFrame>
  )
}

function toColumns(show: (entry: Entry) => void): readonly Column<Entry>[] {
  return [
    { head: 'At', className: 'w-26', cell: ({ at }) => <Ago at={at} /> },
    { head: 'By', className: 'w-24 sm:w-40', cell: ({ by }) => by },
    {
      head: 'Action',
      className: 'sm:w-48',
      cell: (entry) => (
        <>
          <button type="button" className="max-w-full truncate text-link underline" onClick={() => show(entry)}>
            {entry.action}
          </button>
          {!entry.isInChain && <strong className="block text-bad">not in the chain</strong>}
        </>
      ),
    },
    { head: 'Reason', className: 'hidden sm:table-cell', cell: ({ reason }) => reason },
    {
      head: 'Details',
      className: 'hidden md:table-cell',
      cell: ({ details }) => <code>{toVisibleJson(details)}</code>,
    },
  ]
}

/** Senders choose the ids in details. What shows nothing, or turns the text around, is an escape of JSON here. */
export function toVisibleJson(details: Entry['details'], indent = 0): string {
  const toEscape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(details, null, indent).replace(/[\p{Cf}\p{Zl}\p{Zp}]/gu, (hidden) =>
    hidden.split('').map(toEscape).join(''),
  )
}

/** Checks the whole chain, part by part, and says what it has found. */
async function verifyAll(): Promise<{ readonly isUnchanged: boolean; readonly said: string }> {
  let count = 0
  let part = await operator.audit.verify.query({})
  for (;;) {
    count += part.entries
    const entries = texts.plural(count, 'entry', 'entries')
    if (!part.ok) {
      const end =
        part.brokenAt === null ? 'The newest entries are missing' : `It is broken at the entry ${part.brokenAt}`
      return { isUnchanged: false, said: `Unchanged: ${entries}. ${end}.` }
    }
    if (part.next === null) return { isUnchanged: true, said: `${entries}: unchanged, none is missing.` }
    part = await operator.audit.verify.query({ after: part.next })
  }
}

function Verification() {
  const { data, error, isFetching, refetch } = useOnce(['audit', 'verify'], verifyAll)
  return (
    <div className="my-2 flex flex-wrap items-center gap-3">
      <BusyButton isBusy={isFetching} onClick={() => void refetch()}>
        Verify the chain again
      </BusyButton>
      <span role="status" className={data?.isUnchanged === false ? 'text-bad' : 'text-good'}>
        {isFetching ? 'Verifying the chain…' : data?.said}
      </span>
      <QueryProblem error={error} />
    </div>
  )
}

/** All of an entry of the audit log. Rows cut what is long, and a narrow window has no room for some of it. */
function EntryDialog({ entry, onClose }: { readonly entry: Entry; readonly onClose: () => void }) {
  return (
    <Modal title="Entry of the audit log" onClose={onClose}>
      <Facts
        hasOneColumn
        items={[
          ['At', <Instant key="at" at={entry.at} />],
          ['By', entry.by],
          ['Action', entry.action],
          ['Reason', entry.reason ?? texts.none],
        ]}
      />
      {!entry.isInChain && (
        <p className="mt-3 text-bad">
          The gateway did not write this: somebody inserted or changed the entry in the database.
        </p>
      )}
      <h3 className="mt-3 font-semibold">Details</h3>
      <pre className="mt-1 bg-raised p-2 break-all whitespace-pre-wrap">{toVisibleJson(entry.details, 2)}</pre>
    </Modal>
  )
}
