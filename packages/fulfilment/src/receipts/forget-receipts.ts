import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import type { Db, Document } from 'mongodb'
import {
  FORGET_INDEX,
  forgottenReceipt,
  mapReceipts,
  NAME_FORMER_CUSTOMERS,
  ORDERS,
  type OrderDocument,
} from '../orders/stored/order-document.ts'

const AT_ONCE = 200
const SEARCH_MS = 4_000

/**
 * Removes the customer and e-mail from receipts whose retention has ended. The receipt and its key are kept. Works in
 * slices; the next run resumes after a stop.
 */
export async function forgetReceipts(db: Db, stopping: AbortSignal): Promise<void> {
  const isDue = { ...IS_LIST, 'receipts.forgetAt': { $type: 'date' }, $expr: IS_ANY_DUE }
  for (let found = AT_ONCE; found === AT_ONCE && !stopping.aborted; ) {
    const { localTime: now } = await db.command({ hello: 1 })
    const due = await db
      .collection<OrderDocument>(ORDERS)
      .find({ ...IS_LIST, 'receipts.forgetAt': { $lte: now as Date } }, { hint: FORGET_INDEX, maxTimeMS: SEARCH_MS })
      .project<Pick<OrderDocument, '_id'>>({ _id: 1 })
      .limit(AT_ONCE)
      .toArray()
    found = due.length
    const q = { _id: { $in: due.map(({ _id }) => _id) }, ...isDue }
    if (found > 0) await bulkUpdate(db, { update: ORDERS, updates: [{ q, u: FORGET_DUE, multi: true }] })
  }
}

// Something else may have written another value. One such order must not keep the others.
const IS_LIST = { receipts: { $type: 'array' } } as const

function isDue(receipt: string): Document {
  const at = `${receipt}.forgetAt`
  return { $and: [{ $eq: [{ $type: at }, 'date'] }, { $lte: [at, '$$NOW'] }] }
}

const IS_ANY_DUE = { $anyElementTrue: { $map: { input: '$receipts', as: 'one', in: isDue('$$one') } } }

const FORGET_DUE = [
  { $set: { receipts: mapReceipts(isDue('$$one'), forgottenReceipt('$$one')) } },
  NAME_FORMER_CUSTOMERS,
]
