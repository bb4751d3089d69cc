import type { Db, Document } from 'mongodb'
import { mapReceipts } from '../orders/stored/map-receipts.ts'
import { walkOrders } from '../orders/walk-orders.ts'

/** Sets the date for removing the customer and e-mail on receipts sent by release 0.1.0, which did not set one. */
export function dateSentReceipts(db: Db, keepMs: number, stopping: AbortSignal): Promise<void> {
  const needed = { receipts: { $elemMatch: UNDATED } }
  return walkOrders(db, { name: 'receipts.forgetAt', needed, update: date(keepMs) }, stopping)
}

const UNDATED = { state: 'sent', customerId: { $type: 'string' }, forgetAt: { $exists: false } }

function date(keepMs: number): Document[] {
  const isUndated = {
    $and: [
      { $eq: ['$$one.state', 'sent'] },
      { $eq: [{ $type: '$$one.customerId' }, 'string'] },
      { $eq: [{ $type: '$$one.forgetAt' }, 'missing'] },
    ],
  }
  const sentAt = { $cond: [{ $eq: [{ $type: '$$one.sentAt' }, 'date'] }, '$$one.sentAt', '$$NOW'] }
  const forgetAt = { $add: [sentAt, keepMs] }
  return [{ $set: { receipts: mapReceipts(isUndated, { $mergeObjects: ['$$one', { forgetAt }] }) } }]
}
