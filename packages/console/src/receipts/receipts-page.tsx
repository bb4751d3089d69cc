import { formatAmount } from '@oncehook/kernel/money/currencies'
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
import { Instant } from '../parts/values.tsx'
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
  const columns = useColumns(setReleased)
  return (
    <PageFrame title={texts.pages.receipts}>
      <StateChips search={search} />
      <PagedTable
        caption={texts.pages.receipts}
        columns={columns}
        keyOf={keyOf}
        query={receipts}
        empty={texts.receipts}
      />
      {released !== null && <Release receipt={released} onClose={() => setReleased(null)} />}
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

function useColumns(release: (receipt: Receipt) => void): readonly Column<Receipt>[] {
  const mayOperate = useMayDo('operate')
  return [
    { id: 'order', head: texts.events.order, cell: ({ orderId }) => <OrderLink orderId={orderId} /> },
    {
      id: 'state',
      head: texts.events.state,
      className: 'w-20',
      cell: ({ state }) => <span className={LOOKS[state]}>{texts.receipts.states[state]}</span>,
    },
    {
      id: 'amount',
      head: texts.receipts.amount,
      className: 'w-32 hidden sm:table-cell tabular-nums',
      cell: ({ amount, currency }) => formatAmount(amount, currency),
    },
    {
      id: 'paid',
      head: texts.receipts.paid,
      className: 'w-48 hidden md:table-cell',
      cell: ({ paidAt }) => <Instant at={paidAt} />,
    },
    {
      id: 'sent',
      head: texts.receipts.sent,
      className: 'w-48 hidden md:table-cell',
      cell: ({ sentAt }) => <Instant at={sentAt} />,
    },
    {
      id: 'error',
      head: texts.event.lastError,
      className: 'hidden lg:table-cell',
      cell: ({ attempts, lastError }) => (lastError === null ? '' : `${lastError.code} (${attempts})`),
    },
    {
      id: 'action',
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
