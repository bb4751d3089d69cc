import { formatAmount } from '@oncehook/kernel/money/currencies'
import { useQuery } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { type Answers, operator } from '../api/operator-client.ts'
import { useMayDo } from '../api/session.ts'
import { ReasonDialog } from '../dialogs/reason-dialog.tsx'
import { OrderLink } from '../events/events-table.tsx'
import { PageFrame } from '../frame/page-frame.tsx'
import { GuardedButton } from '../parts/buttons.tsx'
import type { Column } from '../parts/data-table.tsx'
import { PagedTable, usePages } from '../parts/paged-table.tsx'
import { QueryProblem } from '../parts/problem-notice.tsx'
import { Ago } from '../parts/values.tsx'
import { texts } from '../texts/texts.ts'

type Receipt = Answers['receipts']['list']['items'][number]

const REFRESH_MS = 5_000

const keyOf = ({ key }: Receipt): string => key

/** The receipts: which are owed, sent or parked, and the release of a parked one. */
export function ReceiptsPage() {
  // The router also keeps what is not valid in an address.
  const search = useSearch({ from: '/receipts', select: (found) => readReceiptSearch({ ...found }) })
  const receipts = usePages({
    key: ['receipts', search],
    read: (page) => operator.receipts.list.query({ ...search, ...page }),
    refreshMs: REFRESH_MS,
  })
  const [released, setReleased] = useState<Receipt | null>(null)
  const [isAllAsked, setAllAsked] = useState(false)
  const mayOperate = useMayDo('operate')
  const columns = useColumns(setReleased)
  return (
    <PageFrame title={texts.pages.receipts}>
      <div className="flex flex-wrap items-center justify-between gap-2">
        <StateChips search={search} />
        <GuardedButton
          text={texts.receipts.releaseAll}
          why={mayOperate ? null : texts.why.operate}
          onClick={() => setAllAsked(true)}
        />
      </div>
      <PagedTable
        caption={texts.pages.receipts}
        columns={columns}
        keyOf={keyOf}
        query={receipts}
        empty={texts.receipts}
      />
      {released !== null && <Release receipt={released} onClose={() => setReleased(null)} />}
      {isAllAsked && <ReleaseAll onClose={() => setAllAsked(false)} />}
    </PageFrame>
  )
}

function StateChips({ search }: { readonly search: ReceiptSearch }) {
  return (
    <nav aria-label={texts.events.state} className="my-2 flex flex-wrap">
      {[undefined, ...RECEIPT_STATES].map((state) => (
        <Link
          key={state ?? ''}
          to="/receipts"
          search={state === undefined ? {} : { state }}
          activeOptions={{ exact: true }}
          activeProps={{}}
          className="chip"
          aria-current={search.state === state ? 'true' : undefined}
        >
          {state === undefined ? texts.events.anyState : texts.receipts.states[state]}
        </Link>
      ))}
    </nav>
  )
}

function Release({ receipt, onClose }: { readonly receipt: Receipt; readonly onClose: () => void }) {
  const { releaseTitle: title, releaseHint: hint, releaseSubmit: submit } = texts.receipts
  const act = (reason: string) => operator.receipts.release.mutate({ key: receipt.key, reason })
  return <ReasonDialog action={{ title, hint, submit, act }} changes={['receipts']} onClose={onClose} />
}

/** Counts the parked receipts first, and releases them part by part: one call takes some seconds at most. */
function ReleaseAll({ onClose }: { readonly onClose: () => void }) {
  const { releaseAllTitle: title, releaseAllHint, releaseAllSubmit: submit, counting } = texts.receipts
  const { data, error } = useQuery({
    queryKey: ['receipts', 'parked'],
    queryFn: () => operator.receipts.releaseAll.mutate({ reason: 'dry run', dryRun: true }),
    gcTime: 0,
  })
  const act = async (reason: string): Promise<void> => {
    for (let after: string | null = null; ; ) {
      const { next } = await operator.receipts.releaseAll.mutate({ reason, after })
      if (next === null) return
      after = next
    }
  }
  const hint = data === undefined ? counting : releaseAllHint(data.matched)
  const fields = <QueryProblem error={error} />
  return <ReasonDialog action={{ title, hint, submit, fields, act }} changes={['receipts']} onClose={onClose} />
}

function useColumns(release: (receipt: Receipt) => void): readonly Column<Receipt>[] {
  const mayOperate = useMayDo('operate')
  return [
    { head: texts.events.order, cell: ({ orderId }) => <OrderLink orderId={orderId} /> },
    {
      head: texts.events.state,
      className: 'w-20',
      cell: ({ state }) => <span className={LOOKS[state]}>{texts.receipts.states[state]}</span>,
    },
    {
      head: texts.receipts.amount,
      className: 'w-32 hidden sm:table-cell tabular-nums',
      cell: ({ amount, currency }) => formatAmount(amount, currency),
    },
    { head: texts.receipts.paid, className: 'w-28 hidden md:table-cell', cell: ({ paidAt }) => <Ago at={paidAt} /> },
    { head: texts.receipts.sent, className: 'w-28 hidden md:table-cell', cell: ({ sentAt }) => <Ago at={sentAt} /> },
    {
      head: texts.event.lastError,
      className: 'hidden lg:table-cell',
      cell: ({ attempts, lastError }) => (lastError === null ? '' : `${lastError.code} (${attempts})`),
    },
    {
      head: texts.event.actions,
      className: 'w-32',
      cell: (receipt) =>
        receipt.state === 'parked' && (
          <GuardedButton
            text={texts.receipts.release}
            why={mayOperate ? null : texts.why.operate}
            onClick={() => release(receipt)}
          />
        ),
    },
  ]
}

const LOOKS: Readonly<Record<Receipt['state'], string>> = {
  owed: 'text-wait',
  sending: 'text-wait',
  sent: 'text-good',
  parked: 'text-bad',
}

/** The states of a receipt, in the order in which it passes through them. */
const RECEIPT_STATES = ['owed', 'sending', 'sent', 'parked'] as const

interface ReceiptSearch {
  readonly state?: (typeof RECEIPT_STATES)[number]
}

/** Reads the filter of an address. An invalid filter is ignored. */
export function readReceiptSearch(search: Readonly<Record<string, unknown>>): ReceiptSearch {
  const state = RECEIPT_STATES.find((one) => one === search.state)
  return state === undefined ? {} : { state }
}
