import type { Document } from 'mongodb'

/** Aggregation expression: a receipt, such as `$$one`, without personal data. It keeps its key. */
export function forgottenReceipt(receipt: string): Document {
  const emptied = { $mergeObjects: [receipt, { customerId: null, email: null }] }
  return { $unsetField: { field: 'forgetAt', input: emptied } }
}
