import { APPLIED_KEPT, type PaymentKey, type StoredReceipt } from '../orders/order-document.ts'
import { receiptKey } from '../receipts/receipt-key.ts'
import type { OrderChange } from './decide-order.ts'
import type { PaymentState } from './transitions.ts'

/** One statement of an update command. */
export interface UpdateStatement {
  readonly q: object
  readonly u: { readonly $push: { readonly applied?: object; readonly paidBy?: PaymentKey } }
}

// Due at once: the worker compares with the database's clock, which is past this in any case.
const AT_ONCE = new Date(0)

/**
 * The statement that makes a change true, or does nothing: it matches only the version that was read, without any of
 * the events. It uses field operators, so that what the receipt worker writes meanwhile is not lost.
 */
export function orderUpdate({ order, markers, state, versionsUp }: OrderChange): UpdateStatement {
  const q = {
    _id: { $eq: order._id },
    version: order.version,
    ...withoutMarkers(order, markers),
  }
  const applied = { $each: markers, $slice: -APPLIED_KEPT }
  if (state === null) return { q, u: { $push: { applied } } }
  const { status, access, payment } = state
  const effect = {
    $set: { status, access, payment },
    $currentDate: { updatedAt: true },
    $inc: { version: versionsUp },
  }
  const pays = payment?.status === 'succeeded' ? paymentPushes({ order, state }) : {}
  return { q, u: { ...effect, $push: { applied, ...pays } } }
}

/** An order that has no marker at all has none of these, and the server looks at a length more cheaply than into a list. */
function withoutMarkers(order: OrderChange['order'], markers: OrderChange['markers']): object {
  if (order.applied.length === 0) return { applied: { $size: 0 } }
  const isMarked = markers.map(({ provider, eventId }) => ({
    applied: { $elemMatch: { provider: { $eq: provider }, eventId: { $eq: eventId } } },
  }))
  return { $nor: isMarked }
}

function paymentPushes({ order, state }: { order: OrderChange['order']; state: PaymentState }) {
  const payment = state.payment
  if (payment === null || order.status === 'paid') return {}
  const key = { provider: payment.provider, id: payment.id }
  const receipt: StoredReceipt = {
    key: receiptKey(order._id, key),
    paymentId: payment.id,
    customerId: order.customerId,
    email: order.email ?? null,
    amount: order.amountDue,
    currency: order.currency,
    paidAt: payment.at,
    state: 'owed',
    fence: 0,
    dueAt: AT_ONCE,
    attempts: 0,
    lastError: null,
    sentAt: null,
  }
  return { paidBy: key, receipts: receipt }
}
