import type { ReceiptBacklog } from '../metrics.ts'
import type { Orders } from '../orders/order-store.ts'

/** Beyond this many orders nobody needs an exact count, and counting must end. */
const MOST = 100_000

/** Counts the receipts that are not sent yet, up to a bound, on the database's clock. */
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
