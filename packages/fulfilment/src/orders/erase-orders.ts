import { recordAltered } from '@oncehook/kernel/http/error-codes'
import type { Logger } from '@oncehook/kernel/log/logger'
import { fromNow } from '@oncehook/kernel/mongo/database-clock'
import type { Encryption } from '@oncehook/kernel/secrets/encryption'
import type { Collection, Document } from 'mongodb'
import { eraseUnsettled } from '../errors.ts'
import {
  customerOf,
  IDEMPOTENCY_KEYS,
  type IdempotencyRow,
  openAnswer,
  UNREADABLE_ANSWER,
  withoutPerson,
} from '../idempotency-keys.ts'
import { GONE } from './change-order.ts'
import {
  forgottenReceipt,
  isLive,
  mapReceipts,
  NAME_FORMER_CUSTOMERS,
  type OrderDocument,
  type StoredReceipt,
} from './stored/order-document.ts'
import { DURABLE_READ, type Orders, reachable } from './stored/order-store.ts'

export interface EraseDeps {
  readonly orders: Orders
  readonly keys: Collection<IdempotencyRow>
  /** How long a key is kept after its answer, in milliseconds. */
  readonly keyTtlMs: number
  readonly encryption: Encryption
  readonly logger: Logger
}

export interface ErasableOrder {
  readonly id: string
  /** True if every receipt to be erased is settled. */
  readonly isSettled: boolean
}

/** Which orders to erase: those of one customer, or those listed. */
export type EraseTarget = { readonly customerId: string } | { readonly orderIds: readonly string[] }

export const MOST_ORDERS = 100

const SEARCH_MS = 4_000

/** Finds up to `MOST_ORDERS` orders that hold personal data. More may remain after these are erased. */
export function findErasable(deps: EraseDeps, target: EraseTarget): Promise<{ orders: ErasableOrder[] }> {
  const customerId = 'customerId' in target ? target.customerId : undefined
  return reachable(async () => {
    const keyed = await findKeyed(deps, target)
    const named = new Set(keyed.map(({ orderId }) => orderId))
    const meant = await findOrders(deps, 'orderIds' in target ? target : { ...target, orderIds: [...named] })
    const erasable = meant.filter((order) => named.has(order._id) || holdsPerson(order, customerId))
    const found = erasable.slice(0, MOST_ORDERS)
    return { orders: found.map((order) => ({ id: order._id, isSettled: !owesReceipt(order, customerId) })) }
  })
}

/**
 * Erases orders. Each order is deleted, and the customer is removed from its receipts and from stored idempotency
 * answers; what a sink has taken stays there. Versions, payments, event markers, keys and hashes are kept. With a
 * customer id, only that customer's data is removed, so an order that now belongs to another customer stays live.
 * An altered answer is overwritten, and a key without an answer is closed, because its request may still store one.
 * Safe to repeat. Resolves to the number of erased orders.
 * @throws eraseUnsettled if a receipt is still to be sent; earlier orders may already be erased. keyUnknown if the key
 * of a stored answer is missing
 */
export function eraseOrders(
  deps: EraseDeps,
  orderIds: readonly string[],
  customerId?: string,
): Promise<{ erased: number }> {
  return reachable(async () => {
    const found = await findOrders(deps, { orderIds })
    if (found.some((order) => owesReceipt(order, customerId))) throw eraseUnsettled()
    await eraseAnswers(deps, orderIds, customerId)
    for (const { _id } of found) {
      if (!(await eraseOrder(deps, _id, customerId))) throw eraseUnsettled()
    }
    return { erased: found.length }
  })
}

/** Each write checks the owner again, because the customer may have changed since the read. */
async function eraseOrder({ orders }: EraseDeps, id: string, customerId?: string): Promise<boolean> {
  const write = async (whose: Document, update: Document[]): Promise<boolean> =>
    (await orders.findOneAndUpdate({ _id: { $eq: id }, ...whose, ...owesNone(customerId) }, update)) !== null
  if (customerId === undefined) return await write({}, [...buried(), NAME_FORMER_CUSTOMERS])
  if (await write({ customerId: { $eq: customerId } }, [...buried(customerId), NAME_FORMER_CUSTOMERS])) return true
  const emptied = { $set: { receipts: emptiedReceipts(customerId) } }
  return await write({ customerId: { $ne: customerId } }, [emptied, NAME_FORMER_CUSTOMERS])
}

type StoredRow = Pick<IdempotencyRow, 'principal' | 'key' | 'orderId' | 'answer' | 'customerId'> & {
  readonly _id: unknown
}

type Row = Omit<StoredRow, 'answer'> & { readonly answer: string; readonly stored: IdempotencyRow['answer'] }

async function findKeyed(deps: EraseDeps, target: EraseTarget): Promise<Row[]> {
  const isMeant = 'orderIds' in target ? { orderId: { $in: [...target.orderIds] } } : { customerId: target.customerId }
  const hint = 'orderIds' in target ? 'order' : 'customer'
  const rows = await deps.keys
    .find(isMeant, { ...DURABLE_READ, hint, limit: MOST_ORDERS })
    .project<StoredRow>({ principal: 1, key: 1, orderId: 1, answer: 1, customerId: 1 })
    .toArray()
  const opened = rows.map((row) => openRow(deps, row))
  return opened.filter(({ answer }) => answer !== withoutPerson(answer))
}

/** @throws keyUnknown: an answer that cannot be read now may name the person */
function openRow({ encryption, logger }: EraseDeps, row: StoredRow): Row {
  try {
    return { answer: UNREADABLE_ANSWER, ...openAnswer(row, encryption), stored: row.answer }
  } catch (error) {
    if (!recordAltered.is(error)) throw error
    logger.error({ collection: IDEMPOTENCY_KEYS, orderId: row.orderId }, 'encryption.record-altered')
    return { ...row, answer: UNREADABLE_ANSWER, stored: row.answer }
  }
}

interface Meant {
  readonly customerId?: string
  readonly orderIds: readonly string[]
}

async function findOrders({ orders }: EraseDeps, { customerId, orderIds }: Meant): Promise<OrderDocument[]> {
  const find = (filter: Document, hint: string): Promise<OrderDocument[]> =>
    orders
      .find(filter, { ...DURABLE_READ, hint, maxTimeMS: SEARCH_MS, limit: MOST_ORDERS })
      .project<OrderDocument>({ items: 0, note: 0, metadata: 0, applied: 0 })
      .toArray()
  const named = find({ _id: { $in: [...orderIds] } }, '_id_')
  if (customerId === undefined) return await named
  const meant = { $eq: customerId }
  const parts = await Promise.all([
    named,
    find({ customerId: meant }, 'customer'),
    find({ formerCustomers: meant }, 'former_customers'),
  ])
  return [...new Map(parts.flat().map((order) => [order._id, order])).values()]
}

function holdsPerson(order: OrderDocument, customerId?: string): boolean {
  const isOwn = isLive(order) && (customerId === undefined || order.customerId === customerId)
  return isOwn || receiptsOf(order, customerId).some((receipt) => receipt.customerId !== null || receipt.email !== null)
}

function owesReceipt(order: OrderDocument, customerId?: string): boolean {
  return receiptsOf(order, customerId).some(({ state }) => state === 'owed' || state === 'sending')
}

/** Receipts that name the customer, or all receipts. Another program may have written a value that is not a list. */
function receiptsOf({ receipts }: OrderDocument, customerId?: string): StoredReceipt[] {
  const entries: readonly (StoredReceipt | null)[] = Array.isArray(receipts) ? receipts : []
  return entries
    .filter((one) => typeof one === 'object' && one !== null)
    .filter((one) => customerId === undefined || one.customerId === customerId)
}

function owesNone(customerId?: string): Document {
  const whose = customerId === undefined ? {} : { customerId: { $eq: customerId } }
  return { receipts: { $not: { $elemMatch: { state: { $in: ['owed', 'sending'] }, ...whose } } } }
}

// A parked receipt no longer has a recipient. Without a due time it is neither listed nor counted.
const EMPTIED = { $unsetField: { field: 'dueAt', input: forgottenReceipt('$$one') } }

function emptiedReceipts(customerId?: string, otherwise?: []): Document {
  const isMeant =
    customerId === undefined ? { $literal: true } : { $eq: ['$$one.customerId', { $literal: customerId }] }
  return mapReceipts(isMeant, EMPTIED, otherwise)
}

const IS_DELETED = { $eq: ['$status', 'deleted'] }

/** Pipeline stages that delete an order. A value that is not a list of receipts is removed, because it may name anybody. */
function buried(customerId?: string): Document[] {
  return [
    {
      $set: {
        status: 'deleted',
        deletedAt: { $cond: [IS_DELETED, '$deletedAt', '$$NOW'] },
        version: { $cond: [IS_DELETED, '$version', { $add: ['$version', 1] }] },
        receipts: emptiedReceipts(customerId, []),
      },
    },
    { $unset: [...GONE] },
  ]
}

async function eraseAnswers(deps: EraseDeps, orderIds: readonly string[], customerId?: string): Promise<void> {
  const find = async (): Promise<Row[]> => (await findKeyed(deps, { orderIds })).filter((row) => names(row, customerId))
  for (let rows = await find(); rows.length > 0; rows = await find()) {
    for (const { _id, stored, answer } of rows) {
      const erased = { answer: { $literal: withoutPerson(answer) }, customerId: null }
      const isUnanswered = stored === undefined
      const closed = isUnanswered ? { state: 'done', expiresAt: fromNow(deps.keyTtlMs) } : {}
      const expected = isUnanswered ? { $exists: false } : { $eq: stored }
      await deps.keys.updateOne({ _id: _id as never, answer: expected }, [{ $set: { ...erased, ...closed } }])
    }
  }
}

function names({ customerId: kept, answer }: Row, customerId: string | undefined): boolean {
  if (customerId === undefined || kept === customerId) return true
  // Nobody can find out whom it names any more, and nobody can use it.
  if (answer === UNREADABLE_ANSWER) return typeof kept !== 'string'
  return customerOf(answer) === customerId
}
