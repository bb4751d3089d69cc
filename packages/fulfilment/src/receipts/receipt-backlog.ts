import type { ReceiptBacklog } from '../metrics.ts'
import type { Orders } from '../orders/stored/order-store.ts'

/** Counting stops at this number of orders. An exact count beyond it is of no use. */
const MOST = 100_000

/** Counts the unsent receipts by the database clock, up to a limit. */
export async function readReceiptBacklog(orders: Orders): Promise<ReceiptBacklog> {
  const isOpen = { $in: ['$receipts.state', ['owed', 'sending']] }
  const [found] = await orders
    .aggregate<ReceiptBacklog>(
      [
        { $match: { 'receipts.dueAt': { $exists: true } } },
        { $limit: MOST },
        { $unwind: '$receipts' },
        {
          $group: {
            _id: null,
            unsettled: { $sum: { $cond: [isOpen, 1, 0] } },
            parked: { $sum: { $cond: [{ $eq: ['$receipts.state', 'parked'] }, 1, 0] } },
            oldest: { $min: { $cond: [isOpen, '$receipts.paidAt', '$$NOW'] } },
          },
        },
        { $set: { oldestSeconds: { $divide: [{ $max: [0, { $subtract: ['$$NOW', '$oldest'] }] }, 1_000] } } },
      ],
      { readPreference: 'primary', maxTimeMS: 4_000, hint: 'receipts_unsettled' },
    )
    .toArray()
  return found ?? { unsettled: 0, parked: 0, oldestSeconds: 0 }
}
