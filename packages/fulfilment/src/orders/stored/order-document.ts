import type { NeededIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import type { Sealed } from '@oncehook/kernel/secrets/encryption'
import type { Document } from 'mongodb'
import { amountDueOf, type Order, type OrderContent, type OrderPayment, type OrderStatus } from '../order.ts'

export const ORDERS = 'orders'

/**
 * The number of further events that an order remembers beside those that paid it. An older one has no effect either, because the status
 * never goes back.
 */
export const APPLIED_KEPT = 200

export type Outcome = 'applied' | 'superseded' | 'already_paid'

/** The marker of an applied event. It answers every later delivery of the same event. */
export interface AppliedEvent {
  readonly provider: string
  readonly eventId: string
  /** Digest of the event, to detect other contents under the same id. */
  readonly hash: string
  readonly outcome: Outcome
  /** Version of the order after the event. */
  readonly version: number
  readonly at: Date
  readonly call: string
}

export interface StoredPayment extends Omit<OrderPayment, 'at'> {
  readonly at: Date
}

export interface PaymentKey {
  readonly provider: string
  readonly id: string
}

/** A payment that has paid the order, and the marker of the event that said so: it must outlast those of other events. */
export interface PaidBy extends PaymentKey {
  readonly marker: AppliedEvent
}

/** State of a receipt. `sending`: a worker holds it, so an attempt may have started; its outcome is not known yet. */
export type ReceiptState = 'owed' | 'sending' | 'sent' | 'parked'

/**
 * A receipt owed to a customer. It is written together with the payment, as `owed` or, if the process that writes it
 * will also send it, as `sending`. What it says never changes afterwards, except for its address.
 */
export interface StoredReceipt {
  readonly key: string
  readonly paymentId: string
  /** Null after the customer was removed. */
  readonly customerId: string | null
  /** Null if the order had no e-mail, or after it was removed. */
  readonly email: string | Sealed | null
  readonly amount: number
  readonly currency: string
  readonly paidAt: Date
  readonly state: ReceiptState
  /** Fencing token, incremented by each claim: a worker that lost its claim cannot settle a newer one. */
  readonly fence: number
  /** The claim that holds the receipt while it is `sending`. */
  readonly heldBy?: string
  /** Database time from which a worker may claim it. While `sending`, the end of the lease. Null if parked, absent if sent. */
  readonly dueAt?: Date | null
  readonly attempts: number
  readonly lastError: { readonly code: string; readonly at: Date } | null
  readonly sentAt: Date | null
  /** When the customer and e-mail are removed. Set only on sent receipts. */
  readonly forgetAt?: Date
  /** The order was deleted before it was sent. */
  readonly forgetWhenSent?: true
}

interface KeptForEver {
  readonly _id: string
  /** The principal that created the order; absent if unknown. */
  readonly createdBy?: string
  /** The principal that last changed the order through `/api/orders`; absent if unknown. */
  readonly changedBy?: string
  readonly version: number
  readonly payment: StoredPayment | null
  /** The newest markers, except for those in `paidBy`. */
  readonly applied: readonly AppliedEvent[]
  readonly receipts: readonly StoredReceipt[]
  /** Payments that have paid this order id, including earlier deleted orders with the same id. Absent if there are none. */
  readonly paidBy?: readonly PaidBy[]
  /** Customers named in receipts but no longer in the order itself. Absent if there are none. */
  readonly formerCustomers?: readonly string[]
}

/** A metadata entry. Stored as pairs, because metadata names are chosen by the caller and cannot be field names. */
export interface MetadataPair {
  readonly name: string
  readonly value: string
}

/** The stored form of a live order. Its personal data may be encrypted. */
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

export interface ReadableOrder extends LiveOrder {
  readonly email?: string
  readonly note?: string
  readonly metadata?: readonly MetadataPair[]
}

/** The remainder of a deleted order: enough to continue the version and to prevent a payment from being applied twice. */
export interface Tombstone extends KeptForEver {
  readonly status: 'deleted'
  readonly deletedAt: Date
}

/** One document is one unit of change: the order, its applied events and the receipts it owes. */
export type OrderDocument = LiveOrder | Tombstone

export function markersOf({ applied, paidBy = [] }: OrderDocument): readonly AppliedEvent[] {
  return [...applied, ...paidBy.map(({ marker }) => marker)]
}

export function isLive(document: OrderDocument | null): document is LiveOrder {
  return document !== null && document.status !== 'deleted'
}

export function storedContent(content: OrderContent) {
  const { metadata, ...rest } = content
  return {
    ...rest,
    amountDue: amountDueOf(content.items),
    ...(metadata === undefined ? {} : { metadata: Object.entries(metadata).map(([name, value]) => ({ name, value })) }),
  }
}

/** The optional fields of an order. An update removes those that are left out. */
export const OPTIONAL_MEMBERS = ['email', 'note', 'metadata'] as const

type Times = 'createdAt' | 'updatedAt'

/** An order that is not stored yet. The database sets missing times. */
export type UnstoredOrder = Omit<ReadableOrder, Times> & Partial<Pick<ReadableOrder, Times>>

/** Creates an order without times, for insertion. */
export function unstoredOrder(id: string, content: OrderContent, principal: string | null = null): UnstoredOrder {
  return {
    _id: id,
    version: 1,
    ...INITIAL_STATE,
    ...storedContent(content),
    ...madeBy(principal),
    applied: [],
    receipts: [],
  }
}

/** Fields that record who created an order. Empty if unknown. */
export function madeBy(principal: string | null): Pick<LiveOrder, 'createdBy' | 'changedBy'> {
  return principal === null ? {} : { createdBy: principal, changedBy: principal }
}

export function newOrder(id: string, content: OrderContent, now: Date): ReadableOrder {
  return { ...unstoredOrder(id, content), createdAt: now, updatedAt: now }
}

/** Whether a stored order, deleted or not, belongs to another principal than the one that access is restricted to. */
export function isForeign(order: OrderDocument | null, owner: string | undefined): boolean {
  return owner !== undefined && order !== null && order.createdBy !== owner
}

/** The state of a new order, including one created again after a deletion. */
export const INITIAL_STATE = { status: 'pending', access: 'locked', payment: null } as const

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

/** The representation of an order. The property order never changes. */
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

export const PAYMENT_INDEX = 'payment_pays_one_order'

/** The index that finds sent receipts whose customer is due to be removed. */
export const FORGET_INDEX = 'receipts_to_forget'

export const ORDER_INDEXES: NeededIndexes = {
  collection: ORDERS,
  indexes: [
    {
      name: PAYMENT_INDEX,
      key: { 'paidBy.provider': 1, 'paidBy.id': 1 },
      unique: true,
      partialFilterExpression: { paidBy: { $exists: true } },
    },
    // Excludes the status, so that payments do not change index entries.
    {
      name: 'newest_by_maker',
      key: { createdBy: 1, createdAt: -1, _id: -1 },
      partialFilterExpression: { createdBy: { $exists: true } },
    },
    { name: 'customer', key: { customerId: 1 }, sparse: true },
    { name: 'former_customers', key: { formerCustomers: 1 }, sparse: true },
    { name: 'newest_by_status', key: { status: 1, createdAt: -1, _id: -1 } },
    {
      // Sent receipts have no due time, so the index holds unsettled receipts only.
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

/** Aggregation expression: a receipt, such as `$$one`, without personal data. It keeps its key. */
export function forgottenReceipt(receipt: string): Document {
  const emptied = { $mergeObjects: [receipt, { customerId: null, email: null }] }
  return { $unsetField: { field: 'forgetWhenSent', input: { $unsetField: { field: 'forgetAt', input: emptied } } } }
}

const NAMED = { $cond: [{ $isArray: ['$receipts'] }, '$receipts.customerId', []] }

/**
 * Update stage that lists the customers who are named only in the receipts of an order, so that an index can find it.
 * Must follow the stage that changes the customer or the receipts.
 */
export const NAME_FORMER_CUSTOMERS: Document = {
  $set: {
    formerCustomers: {
      $let: {
        vars: { former: { $setDifference: [NAMED, [null, { $ifNull: ['$customerId', null] }]] } },
        in: { $cond: [{ $gt: [{ $size: '$$former' }, 0] }, '$$former', '$$REMOVE'] },
      },
    },
  },
}

/**
 * Aggregation expression: the receipts of an order, with the matching ones changed. `$$one` refers to a receipt.
 * Entries that are not receipts are kept. A value that is not a list becomes `otherwise`, by default itself.
 */
export function mapReceipts(matches: Document, changed: Document, otherwise: '$receipts' | [] = '$receipts'): Document {
  const isReceipt = { $eq: [{ $type: '$$one' }, 'object'] }
  const one = { $cond: [{ $and: [isReceipt, matches] }, changed, '$$one'] }
  return { $cond: [{ $isArray: ['$receipts'] }, { $map: { input: '$receipts', as: 'one', in: one } }, otherwise] }
}
