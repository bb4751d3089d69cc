import type { Document } from 'mongodb'

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
