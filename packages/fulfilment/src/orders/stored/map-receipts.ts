import type { Document } from 'mongodb'

/**
 * Aggregation expression: the receipts of an order, with the matching ones changed. `$$one` refers to a receipt.
 * Entries that are not receipts are kept. A value that is not a list becomes `otherwise`, by default itself.
 */
export function mapReceipts(matches: Document, changed: Document, otherwise: '$receipts' | [] = '$receipts'): Document {
  const isReceipt = { $eq: [{ $type: '$$one' }, 'object'] }
  const one = { $cond: [{ $and: [isReceipt, matches] }, changed, '$$one'] }
  return { $cond: [{ $isArray: ['$receipts'] }, { $map: { input: '$receipts', as: 'one', in: one } }, otherwise] }
}
