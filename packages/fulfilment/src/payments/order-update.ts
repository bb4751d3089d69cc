import {
  APPLIED_KEPT,
  type AppliedEvent,
  type PaidBy,
  type StoredPayment,
  type StoredReceipt,
} from '../orders/stored/order-document.ts'
import { claimNew, type FirstClaim, receiptKey } from '../receipts/claims/receipt-claim.ts'
import type { OrderChange } from './decide-order.ts'

export interface UpdateStatement {
  readonly q: { readonly _id: unknown; readonly [condition: string]: unknown }
  readonly u: { readonly $push: { readonly applied?: object } & PaymentPushes }
  readonly hint: typeof BY_ID
}

/** Otherwise the server weighs every index of the orders for each statement. */
const BY_ID = { _id: 1 } as const

// Due at once: the worker compares it with the database clock, which is always later.
const AT_ONCE = new Date(0)

/**
 * The statement that makes a change. It matches only the version that was read, without any of these events;
 * otherwise it does nothing. It uses field operators to keep concurrent writes of the receipt worker. A new receipt is
 * written under the claim, if there is one.
 */
export function orderUpdate(change: OrderChange, claim: FirstClaim | null): UpdateStatement {
  const { order, markers, paying, state, versionsUp } = change
  const q = {
    _id: { $eq: order._id },
    version: order.version,
    ...withoutMarkers(order, paying === null ? markers : [...markers, paying]),
  }
  const applied = { $each: markers, $slice: -APPLIED_KEPT }
  if (state === null) return { q, u: { $push: { applied } }, hint: BY_ID }
  const { status, access, payment } = state
  const effect = {
    $set: { status, access, payment },
    $currentDate: { updatedAt: true },
    $inc: { version: versionsUp },
  }
  const pays = payment === null || paying === null ? {} : paymentPushes({ order, payment, paying, claim })
  return { q: { ...q, ...stillThis(pays.receipts?.email) }, u: { ...effect, $push: { applied, ...pays } }, hint: BY_ID }
}

/**
 * An order without markers has none of these events. Checking the length is cheaper for the server than searching the
 * list.
 */
function withoutMarkers(order: OrderChange['order'], markers: OrderChange['markers']): object {
  if (order.applied.length === 0) return { applied: { $size: 0 } }
  const isMarked = markers.map(({ provider, eventId }) => ({
    applied: { $elemMatch: { provider: { $eq: provider }, eventId: { $eq: eventId } } },
  }))
  return { $nor: isMarked }
}

/**
 * A rotation encrypts the order's email, or encrypts it by another key, without a new version. The receipt must not get the
 * email as it was before: the rotation would have passed the order already, and the old key may be retired.
 */
function stillThis(email: StoredReceipt['email'] | undefined): object {
  if (typeof email === 'string') return { email: { $type: 'string' } }
  return typeof email === 'object' && email !== null ? { 'email.key': { $eq: email.key } } : {}
}

interface PaymentPushes {
  readonly paidBy?: PaidBy
  readonly receipts?: StoredReceipt
}

interface Paid {
  readonly order: OrderChange['order']
  readonly payment: StoredPayment
  readonly paying: AppliedEvent
  readonly claim: FirstClaim | null
}

function paymentPushes({ order, payment, paying, claim }: Paid): PaymentPushes {
  const key = { provider: payment.provider, id: payment.id }
  const owed: StoredReceipt = {
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
  return { paidBy: { ...key, marker: paying }, receipts: claimNew(owed, claim) }
}
