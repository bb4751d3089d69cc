import type { Document } from 'mongodb'

/** An expression: a receipt, such as `$$one`, without what it says of a person. It keeps its key. */
export function forgottenReceipt(receipt: string): Document {
  const emptied = { $mergeObjects: [receipt, { customerId: null, email: null }] }
  return { $unsetField: { field: 'forgetAt', input: emptied } }
}
