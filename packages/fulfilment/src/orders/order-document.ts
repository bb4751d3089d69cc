import type { Sealed } from '@oncehook/kernel/encryption'
import type { NeededIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { amountDueOf, type Order, type OrderContent, type OrderPayment, type OrderStatus } from './order.ts'

/** The collection of orders. */
export const ORDERS = 'orders'

/** How many applied events an order remembers; older ones fall back on `paidBy` and on the status that only goes up. */
export const APPLIED_KEPT = 200

/** What an event that was looked at did to its order. */
export type Outcome = 'applied' | 'superseded' | 'already_paid'

/** The marker of an event that was applied: it answers every later delivery of that event. */
export interface AppliedEvent {
  readonly provider: string
  readonly eventId: string
  /** Digest of what the event said, so that the same id with other contents shows. */
  readonly hash: string
  readonly outcome: Outcome
  /** The version of the order when the event had taken effect. */
  readonly version: number
  readonly at: Date
  /** Which call wrote the marker. */
  readonly call: string
}

/** The payment that an order shows, as stored. */
export interface StoredPayment extends Omit<OrderPayment, 'at'> {
  readonly at: Date
}

/** A payment object, named by its provider. */
export interface PaymentKey {
  readonly provider: string
  readonly id: string
}

/** Where a receipt stands. `sending`: an attempt was begun and its outcome is not known yet. */
export type ReceiptState = 'owed' | 'sending' | 'sent' | 'parked'

/** A receipt owed to a customer: it appears in the same write as the payment, and says what it said then for ever, but for the address. */
export interface StoredReceipt {
  /** The idempotency key of every attempt to send it. */
  readonly key: string
  readonly paymentId: string
  /** Null once it was forgotten. */
  readonly customerId: string | null
  /** Null where the order had none, and once it was forgotten. */
  readonly email: string | Sealed | null
  readonly amount: number
  readonly currency: string
  readonly paidAt: Date
  readonly state: ReceiptState
  /** Goes up with each attempt; a worker that lost its claim cannot settle a newer one. */
  readonly fence: number
  /** The claim that holds it in `sending`. */
  readonly heldBy?: string
  /** Database time from which a worker may take it; in `sending` the end of the lease, null when parked, absent when sent. */
  readonly dueAt?: Date | null
  readonly attempts: number
  readonly lastError: { readonly code: string; readonly at: Date } | null
  readonly sentAt: Date | null
  /** From then on customer and e-mail are forgotten; only where they are there. */
  readonly forgetAt?: Date
}

interface KeptForEver {
  readonly _id: string
  /** The principal that made the order; absent where it is not known. */
  readonly createdBy?: string
  /** The principal that changed the order last, through `/api/orders`; absent where it is not known. */
  readonly changedBy?: string
  readonly version: number
  readonly payment: StoredPayment | null
  readonly applied: readonly AppliedEvent[]
  readonly receipts: readonly StoredReceipt[]
  /** Payments that have paid this id, deleted orders of it included; absent when there is none. */
  readonly paidBy?: readonly PaymentKey[]
  /** Customers whom its receipts name, but not the order itself any more; absent when there is none. */
  readonly formerCustomers?: readonly string[]
}

/** A name and a value of the metadata: kept as pairs, for the caller's names are no names of ours. */
export interface MetadataPair {
  readonly name: string
  readonly value: string
}

/** The stored form of an order that exists. What is personal of it may be encrypted. */
export interface LiveOrder extends KeptForEver, Omit<OrderContent, 'email' | 'note' | 'metadata'> {
  readonly status: OrderStatus
  readonly access: 'locked' | 'unlocked'
  readonly amountDue: number
  readonly email?: string | Sealed
  readonly note?: string | Sealed
  readonly metadata?: readonly MetadataPair[] | Sealed
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** An order with everything in clear. */
export interface ReadableOrder extends LiveOrder {
  readonly email?: string
  readonly note?: string
  readonly metadata?: readonly MetadataPair[]
}

/** What stays of a deleted order: enough for the version to go on and for no payment to be applied twice. */
export interface Tombstone extends KeptForEver {
  readonly status: 'deleted'
  readonly deletedAt: Date
}

/** One document is one unit of change: the order, the events applied to it, the receipts it owes. */
export type OrderDocument = LiveOrder | Tombstone

/** Whether a stored order exists for its readers. */
export function isLive(document: OrderDocument | null): document is LiveOrder {
  return document !== null && document.status !== 'deleted'
}

/** The members that a content gives to the stored form. */
export function storedContent(content: OrderContent) {
  const { metadata, ...rest } = content
  return {
    ...rest,
    amountDue: amountDueOf(content.items),
    ...(metadata === undefined ? {} : { metadata: Object.entries(metadata).map(([name, value]) => ({ name, value })) }),
  }
}

/** The optional members of a content: an update removes those that are left out. */
export const OPTIONAL_MEMBERS = ['email', 'note', 'metadata'] as const

type Times = 'createdAt' | 'updatedAt'

/** An order that is not stored yet. The database gives it the times that it lacks. */
export type UnstoredOrder = Omit<ReadableOrder, Times> & Partial<Pick<ReadableOrder, Times>>

/** An order that is to be made, without times. */
export function unstoredOrder(id: string, content: OrderContent, principal: string | null = null): UnstoredOrder {
  return { _id: id, version: 1, ...FRESH, ...storedContent(content), ...madeBy(principal), applied: [], receipts: [] }
}

/** Names who has made an order; nothing where it is not known. */
export function madeBy(principal: string | null): Pick<LiveOrder, 'createdBy' | 'changedBy'> {
  return principal === null ? {} : { createdBy: principal, changedBy: principal }
}

/** The stored form of an order that has just been made. */
export function newOrder(id: string, content: OrderContent, now: Date): ReadableOrder {
  return { ...unstoredOrder(id, content), createdAt: now, updatedAt: now }
}

/** Whether a stored order, deleted ones included, is of another principal than the one that may touch only its own. */
export function isForeign(order: OrderDocument | null, owner: string | undefined): boolean {
  return owner !== undefined && order !== null && order.createdBy !== owner
}

/** The state in which an order begins, also one that is made anew after a deletion. */
export const FRESH = { status: 'pending', access: 'locked', payment: null } as const

/** What the caller wrote of an order. */
export function contentOf(order: ReadableOrder): OrderContent {
  const { customerId, currency, items, email, note, metadata } = order
  return {
    customerId,
    currency,
    items: items.map(({ sku, quantity, unitAmount }) => ({ sku, quantity, unitAmount })),
    ...(email === undefined ? {} : { email }),
    ...(note === undefined ? {} : { note }),
    ...(metadata === undefined
      ? {}
      : { metadata: Object.fromEntries(metadata.map(({ name, value }) => [name, value])) }),
  }
}

/** The representation of an order; its members always stand in the same order. */
export function toOrder(order: ReadableOrder): Order {
  const { payment } = order
  return {
    id: order._id,
    version: order.version,
    status: order.status,
    ...contentOf(order),
    amountDue: order.amountDue,
    access: order.access,
    payment:
      payment === null
        ? null
        : { id: payment.id, provider: payment.provider, status: payment.status, at: payment.at.toISOString() },
    createdAt: order.createdAt.toISOString(),
    updatedAt: order.updatedAt.toISOString(),
  }
}

/** The index that keeps one payment from paying two orders. */
export const PAYMENT_INDEX = 'payment_pays_one_order'

/** The index by which sent receipts are found that are to forget their customer. */
export const FORGET_INDEX = 'receipts_to_forget'

/** The indexes of the collection. */
export const ORDER_INDEXES: NeededIndexes = {
  collection: ORDERS,
  indexes: [
    {
      name: PAYMENT_INDEX,
      key: { 'paidBy.provider': 1, 'paidBy.id': 1 },
      unique: true,
      partialFilterExpression: { paidBy: { $exists: true } },
    },
    // Without the status, so that no payment changes it.
    {
      name: 'newest_by_maker',
      key: { createdBy: 1, createdAt: -1, _id: -1 },
      partialFilterExpression: { createdBy: { $exists: true } },
    },
    { name: 'customer', key: { customerId: 1 }, sparse: true },
    { name: 'former_customers', key: { formerCustomers: 1 }, sparse: true },
    { name: 'newest_by_status', key: { status: 1, createdAt: -1, _id: -1 } },
    {
      // Receipts that were sent have no due time, so the index holds only what is left to do.
      name: 'receipts_unsettled',
      key: { 'receipts.dueAt': 1 },
      partialFilterExpression: { 'receipts.dueAt': { $exists: true } },
    },
    {
      name: FORGET_INDEX,
      key: { 'receipts.forgetAt': 1 },
      partialFilterExpression: { 'receipts.forgetAt': { $exists: true } },
    },
  ],
}
