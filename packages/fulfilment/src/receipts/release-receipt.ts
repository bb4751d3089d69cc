// A parked receipt is made due again, one by its key or all of them. The operator accepts the risk of a second copy. A receipt
// goes to the current address of the order, because a missing or wrong address is a common reason for parking; but only if the
// order still has the same customer. A receipt whose customer was removed is not sent again.
import type { Document } from 'mongodb'
import { receiptNotParked } from '../errors.ts'
import { mapReceipts } from '../orders/stored/order-document.ts'
import { DURABLE_READ, type Orders, reachable } from '../orders/stored/order-store.ts'

const RELEASABLE = { key: { $type: 'string' }, state: 'parked', customerId: { $type: 'string' } } as const
/** The same for a receipt in an expression. */
const IS_RELEASABLE = [
  { $eq: ['$$one.state', 'parked'] },
  ...['key', 'customerId'].map((member) => ({ $eq: [{ $type: `$$one.${member}` }, 'string'] })),
]
const ADDRESS = {
  $cond: [{ $eq: ['$customerId', '$$one.customerId'] }, { $ifNull: ['$email', '$$one.email'] }, '$$one.email'],
}
const RELEASED = { $mergeObjects: ['$$one', { state: 'owed', dueAt: '$$NOW', email: ADDRESS }] }

/** The update that releases the receipts of an order for which this holds too. */
function release(...which: readonly Document[]): Document[] {
  return [{ $set: { receipts: mapReceipts({ $and: [...IS_RELEASABLE, ...which] }, RELEASED) } }]
}

/** The index of unsettled receipts has these orders only. */
const UNSETTLED = { 'receipts.dueAt': { $exists: true } } as const

/** @throws receiptNotParked if no parked receipt has this key, unavailable */
export async function releaseReceipt(orders: Orders, key: string): Promise<{ key: string; orderId: string }> {
  const parked = { receipts: { $elemMatch: { ...RELEASABLE, key: { $eq: key } } } }
  const update = release({ $eq: ['$$one.key', { $literal: key }] })
  const released = await reachable(() =>
    orders.findOneAndUpdate({ ...UNSETTLED, ...parked }, update, { projection: { _id: 1 } }),
  )
  if (released === null) throw receiptNotParked()
  return { key, orderId: released._id }
}

/** The orders whose receipts one call releases. */
const MOST_ORDERS = 1_000
/** Counting stops at this number of orders. */
const MOST_COUNTED = 100_000

/** A part of a release of all: the orders after this one. A receipt that is parked again meanwhile is not met a second time. */
interface ReleaseAllRequest {
  readonly after: string | null
  /** Only counts the receipts of all orders. */
  readonly dryRun: boolean
}

/** How many receipts were released, or would be, and where the next part begins; null at the end. */
interface ReleasedPart {
  readonly receipts: number
  readonly next: string | null
}

/**
 * Releases every parked receipt of the next 1,000 orders that have one.
 * @throws unavailable
 */
export async function releaseAllReceipts(orders: Orders, { after, dryRun }: ReleaseAllRequest): Promise<ReleasedPart> {
  const limit = dryRun ? MOST_COUNTED : MOST_ORDERS
  const releasable = { $filter: { input: '$receipts', as: 'one', cond: { $and: IS_RELEASABLE } } }
  const pipeline = [
    { $match: { ...UNSETTLED, _id: { $gt: after ?? '' }, receipts: { $elemMatch: RELEASABLE } } },
    ...(dryRun ? [] : [{ $sort: { _id: 1 } }]),
    { $limit: limit },
    { $project: { receipts: { $size: releasable } } },
  ]
  const options = { ...DURABLE_READ, hint: 'receipts_unsettled' }
  const found = await reachable(() => orders.aggregate<{ _id: string; receipts: number }>(pipeline, options).toArray())
  const receipts = found.reduce((sum, order) => sum + order.receipts, 0)
  if (dryRun) return { receipts, next: null }
  const ids = found.map(({ _id }) => _id)
  if (ids.length > 0) await reachable(() => orders.updateMany({ _id: { $in: ids }, ...UNSETTLED }, release()))
  return { receipts, next: found.length < limit ? null : (ids.at(-1) ?? null) }
}
