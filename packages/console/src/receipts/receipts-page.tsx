import { formatAmount } from '@oncehook/kernel/money/currencies'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { type Answers, operator } from '../api/operator-client.ts'
import { useOnce } from '../api/use-answer.ts'
import { ActionButton, ReasonDialog, type ReasonedAction } from '../dialogs/reason-dialog.tsx'
import { LOOK_OF_RECEIPT, LOOKS } from '../event/order-facts.tsx'
import { OrderLink } from '../events/events-table.tsx'
import { PageFrame } from '../frame/page-frame.tsx'
import { GuardedButton } from '../parts/buttons.tsx'
import { ChipChoice } from '../parts/choice.tsx'
import type { Column } from '../parts/data-table.tsx'
import { PagedTable, usePages } from '../parts/paged-table.tsx'
import { QueryProblem } from '../parts/problem-notice.tsx'
import { EmptyNotice } from '../parts/section.tsx'
import { Ago } from '../parts/values.tsx'
import { texts } from '../texts/texts.ts'

type Receipt = Answers['receipts']['list']['items'][number]

const REFRESH_MS = 5_000
const CHANGES = ['receipts']

/** The receipts: which are owed, sent or parked, and the release of a parked one. */
export function ReceiptsPage() {
  const navigate = useNavigate()
  // The router also keeps what is not valid in an address.
  const search = useSearch({ from: '/receipts', select: (found) => readReceiptSearch({ ...found }) })
  const receipts = usePages(
    ['receipts', search],
    (page) => operator.receipts.list.query({ ...search, ...page }),
    REFRESH_MS,
  )
  const [action, setAction] = useState<ReasonedAction | null>(null)
  return (
    <PageFrame title="Receipts">
      <div className="my-2 flex flex-wrap items-center justify-between gap-2">
        <ChipChoice
          label="State"
          any="All"
          chosen={search.state}
          options={RECEIPT_STATES.map((state) => [state, state])}
          onChoose={(state) => void navigate({ to: '/receipts', search: readReceiptSearch({ state }) })}
        />
        <ActionButton text="Release all parked…" {...RELEASE_ALL} />
      </div>
      <PagedTable
        caption="Receipts"
        columns={toColumns((receipt) => setAction(toRelease(receipt)))}
        keyOf={({ key }) => key}
        query={receipts}
        empty={
          <EmptyNotice
            title="No receipt is in this state"
            hint="A receipt is owed as soon as an order is paid. Pay one with:"
            command="npm run oncehook -- send"
          />
        }
      />
      {action !== null && <ReasonDialog {...action} onClose={() => setAction(null)} />}
    </PageFrame>
  )
}

const toRelease = ({ key }: Receipt): ReasonedAction => ({
  title: 'Release this parked receipt',
  hint: 'The receipt may have been sent before. If so, the customer gets it twice.',
  submit: 'Release the receipt',
  act: (reason) => operator.receipts.release.mutate({ key, reason }),
  changes: CHANGES,
})

/** Counts the parked receipts first, and releases them part by part: one call takes some seconds at most. */
const RELEASE_ALL: ReasonedAction = {
  title: 'Release all parked receipts',
  hint: <ParkedCount />,
  submit: 'Release them all',
  changes: CHANGES,
  async act(reason) {
    for (let after: string | null = null; ; ) {
      const { next } = await operator.receipts.releaseAll.mutate({ reason, after })
      if (next === null) return
      after = next
    }
  },
}

function ParkedCount() {
  const count = () => operator.receipts.releaseAll.mutate({ reason: 'dry run', dryRun: true })
  const { data, error } = useOnce(['receipts', 'parked'], count)
  if (data === undefined) return error === null ? 'Counting the parked receipts…' : <QueryProblem error={error} />
  const parked = texts.plural(data.matched, 'parked receipt', 'parked receipts')
  return `${parked} will be sent. Those that were sent before arrive twice.`
}

function toColumns(release: (receipt: Receipt) => void): readonly Column<Receipt>[] {
  return [
    { head: 'Order', cell: ({ orderId }) => <OrderLink orderId={orderId} /> },
    {
      head: 'State',
      className: 'w-20',
      cell: ({ state }) => <span className={LOOKS[LOOK_OF_RECEIPT[state]].colour}>{state}</span>,
    },
    {
      head: 'Amount',
      className: 'w-32 hidden sm:table-cell tabular-nums',
      cell: ({ amount, currency }) => formatAmount(amount, currency),
    },
    { head: 'Paid', className: 'w-28 hidden md:table-cell', cell: ({ paidAt }) => <Ago at={paidAt} /> },
    { head: 'Sent', className: 'w-28 hidden md:table-cell', cell: ({ sentAt }) => <Ago at={sentAt} /> },
    {
      head: 'Last error',
      className: 'hidden lg:table-cell',
      cell: ({ attempts, lastError }) => (lastError === null ? '' : `${lastError.code} (${attempts})`),
    },
    {
      head: 'Actions',
      className: 'w-32',
      cell: (receipt) =>
        receipt.state === 'parked' && <GuardedButton text="Release…" onClick={() => release(receipt)} />,
    },
  ]
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
