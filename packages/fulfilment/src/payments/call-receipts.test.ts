import { expect, it, vi } from 'vitest'
import type { PaidBy, StoredReceipt } from '../orders/stored/order-document.ts'
import { receiptKey } from '../receipts/claims/receipt-claim.ts'
import { CallReceipts } from './call-receipts.ts'

const receipt: StoredReceipt = {
  ...{
    key: receiptKey('ord_1', { provider: 'acme', id: 'pay_1' }),
    paymentId: 'pay_1',
    customerId: 'cus_1',
    email: null,
    amount: 300,
    currency: 'EUR',
  },
  ...{ paidAt: new Date(), state: 'sending', fence: 1, heldBy: 'call', dueAt: new Date(), attempts: 1 },
  ...{ lastError: null, sentAt: null },
}

/** A payment that has paid the order, by an event of this call. */
const paid = (provider: string, id: string, call = 'call'): PaidBy => {
  const applied = { eventId: 'evt_1', hash: 'x', outcome: 'applied', version: 2, at: new Date(), call } as const
  return { provider, id, marker: { provider, ...applied } }
}

it.each<[what: string, paidBy: PaidBy[] | undefined, sent: number]>([
  ['has the payment of the receipt', [paid('acme', 'pay_1')], 1],
  // A marker of the call is in the order also if only an earlier round was stored.
  ['was paid by another payment', [paid('acme', 'pay_2')], 0],
  ['was paid by one with the same id of another provider', [paid('shop', 'pay_1')], 0],
  // Whoever has stored the receipt sends it.
  ['was paid by the same payment in another call', [paid('acme', 'pay_1', 'another')], 0],
  ['is not paid', undefined, 0],
])('a receipt of an unconfirmed write is sent if the order %s', (_, paidBy, sent) => {
  const end = vi.fn()
  const reserve = () => ({ room: 1, until: new Date(), keyIds: [], end })
  {
    using receipts = new CallReceipts({ reserve, nudge: () => undefined }, { id: 'call', orders: 1 })
    receipts.claimFor('ord_1')
    receipts.note('ord_1', receipt, 'unconfirmed')
    receipts.confirm({ _id: 'ord_1', ...(paidBy && { paidBy }) })
  }
  const [{ held, unconfirmed }] = end.mock.calls[0] ?? []
  expect([held.length, unconfirmed?.claims.length ?? 0]).toEqual([sent, 1 - sent])
})
