import type { Document } from 'mongodb'

const NAMED = { $cond: [{ $isArray: ['$receipts'] }, '$receipts.customerId', []] }

/**
 * A stage of an update: an order names the customers whom only its receipts still name, so that an index finds it by them.
 * It comes behind the stage that changes the customer or the receipts.
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
