import { toUnavailable } from '@oncehook/kernel/mongo/write-outcome'
import { receiptNotParked } from '../errors.ts'
import type { Orders } from '../orders/stored/order-store.ts'

/**
 * Makes a parked receipt due again. The operator accepts the risk of a second copy. It goes to the current address of
 * the order, because a missing or wrong address is a common reason for parking; but only if the order still has the same
 * customer. A receipt whose customer was removed is not sent again.
 * @throws receiptNotParked if no parked receipt has this key, unavailable
 */
export async function releaseReceipt(orders: Orders, key: string): Promise<{ key: string; orderId: string }> {
  const parked = { receipts: { $elemMatch: { key: { $eq: key }, state: 'parked', customerId: { $type: 'string' } } } }
  try {
    const released = await orders.findOneAndUpdate(
      { 'receipts.dueAt': { $exists: true }, ...parked },
      [
        {
          $set: {
            receipts: {
              $map: {
                input: '$receipts',
                in: {
                  $cond: [
                    {
                      $and: [
                        { $eq: ['$$this.key', { $literal: key }] },
                        { $eq: ['$$this.state', 'parked'] },
                        { $ne: ['$$this.customerId', null] },
                      ],
                    },
                    { $mergeObjects: ['$$this', { state: 'owed', dueAt: '$$NOW', email: ADDRESS }] },
                    '$$this',
                  ],
                },
              },
            },
          },
        },
      ],
      { projection: { _id: 1 } },
    )
    if (released === null) throw receiptNotParked()
    return { key, orderId: released._id }
  } catch (error) {
    throw toUnavailable(error) ?? error
  }
}

const ADDRESS = {
  $cond: [{ $eq: ['$customerId', '$$this.customerId'] }, { $ifNull: ['$email', '$$this.email'] }, '$$this.email'],
}
