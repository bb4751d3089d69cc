import type { Document } from 'mongodb'

/**
 * An expression: the receipts of an order, with those changed that match; `$$one` is a receipt. An entry that is no receipt
 * stays. What is no list becomes `otherwise`: it stays too, unless told.
 */
export function mapReceipts(matches: Document, changed: Document, otherwise: '$receipts' | [] = '$receipts'): Document {
  const isReceipt = { $eq: [{ $type: '$$one' }, 'object'] }
  const one = { $cond: [{ $and: [isReceipt, matches] }, changed, '$$one'] }
  return { $cond: [{ $isArray: ['$receipts'] }, { $map: { input: '$receipts', as: 'one', in: one } }, otherwise] }
}
