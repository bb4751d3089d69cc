// What is known of an order, beside its event and where somebody looks for it.

import { formatAmount } from '@oncehook/kernel/money/currencies'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { codeOf } from '../api/describe-problem.ts'
import { type Answers, operator } from '../api/operator-client.ts'
import { useLive } from '../api/use-answer.ts'
import { QueryProblem } from '../parts/problem-notice.tsx'
import { Facts } from '../parts/section.tsx'
import { texts } from '../texts/texts.ts'

/** What is said of an order that does not exist. */
export const NO_ORDER = 'No order has this id now.'

export type Order = Answers['orders']['get']

/** An order, kept up to date. Null if there is none with this id. */
export const useOrder = (id: string) => useLive(['orders', id], () => readOrder(id))

function readOrder(id: string): Promise<Order | null> {
  return operator.orders.get.query({ id }).catch((error: unknown) => {
    const code = codeOf(error)
    // No order has an id that is not valid.
    if (code === 'order_not_found' || code === 'invalid_request') return null
    throw error
  })
}

export function useReceipts(orderId: string): Answers['receipts']['list']['items'] {
  const { data } = useLive(['receipts', 'of', orderId], () => operator.receipts.list.query({ orderId, limit: 100 }))
  return data?.items ?? []
}

export const LOOKS = {
  good: { mark: '●', colour: 'text-good' },
  bad: { mark: '✕', colour: 'text-bad' },
  wait: { mark: '◔', colour: 'text-wait' },
  quiet: { mark: '○', colour: 'text-quiet' },
} as const

export const LOOK_OF_RECEIPT = { owed: 'wait', sending: 'wait', sent: 'good', parked: 'bad' } as const
const LOOK_OF_ORDER = { pending: 'wait', payment_failed: 'bad', paid: 'good' } as const

export function Marked({ look, text }: { readonly look: keyof typeof LOOKS; readonly text: string }) {
  return (
    <span className={LOOKS[look].colour}>
      <span aria-hidden="true">{LOOKS[look].mark}</span> {text}
    </span>
  )
}

/** What an order costs, and whether it is paid. `paid` is what an event says about its amount. */
export function OrderFacts({ order, paid = null }: { readonly order: Order; readonly paid?: ReactNode }) {
  const { id, status, access, amountDue, currency } = order
  return (
    <Facts
      items={[
        ['State', <Marked key="state" look={LOOK_OF_ORDER[status]} text={status.replace('_', ' ')} />],
        ['Access', access],
        ['Amount due', formatAmount(amountDue, currency)],
        ['Event says', paid],
        ['Receipt', status === 'paid' ? <Receipts key="receipts" orderId={id} /> : null],
      ]}
    />
  )
}

function Receipts({ orderId }: { readonly orderId: string }) {
  return useReceipts(orderId).map(({ key, state }) => <Marked key={key} look={LOOK_OF_RECEIPT[state]} text={state} />)
}

/** The order that somebody looks for; if no event names it, also what that can mean. Nothing if the id is of something else. */
export function SoughtOrder({ id, hasEvents }: { readonly id: string; readonly hasEvents: boolean }) {
  const { data: order, error } = useOrder(id)
  if (order === undefined) return <QueryProblem error={error} />
  if (order === null) return hasEvents ? null : <p className="text-center">{NO_ORDER}</p>
  return (
    <>
      <OrderFacts order={order} />
      {!hasEvents && <RefusedSince at={order.createdAt} />}
    </>
  )
}

/** How many deliveries were refused since an order was created: its payment may have been among them. */
function RefusedSince({ at }: { readonly at: string }) {
  const { data } = useLive(['refusals', 'since', at], () => operator.refusals.list.query({ limit: 100 }))
  if (data === undefined) return null
  const { items, next, notKept } = data
  const count = items.filter((refusal) => refusal.at >= at).length
  const isMore = (next !== null && count === items.length) || notKept.some(({ lastAt }) => lastAt >= at)
  return (
    <p className="mt-2">
      No event names this order. Deliveries have no event if they are refused:{' '}
      <Link to="/refused">
        {texts.number(count)}
        {isMore && ' or more'} refused since the order was created
      </Link>
    </p>
  )
}
