import { isDeepStrictEqual } from 'node:util'
import { orderPaid } from '../errors.ts'
import { asLiterals, changedBy } from './by-principal.ts'
import type { OrderContent } from './order.ts'
import { NAME_FORMER_CUSTOMERS } from './stored/former-customers.ts'
import { contentOf, isLive, type LiveOrder, OPTIONAL_MEMBERS, storedContent } from './stored/order-document.ts'
import { openOrder, sealMembers } from './stored/order-encryption.ts'
import { type OrderCollection, updateOrder } from './stored/order-store.ts'

/**
 * Replaces the content of a stored order if it still has the version that was read. Equal content changes nothing.
 * Resolves to null if a concurrent change won.
 * @throws orderPaid if the items or currency of a paid order would change
 */
export async function replaceContent(
  { orders, encryption }: OrderCollection,
  read: LiveOrder,
  { content, principal }: { readonly content: OrderContent; readonly principal: string | null },
): Promise<LiveOrder | null> {
  const before = contentOf(openOrder(read, encryption))
  if (isDeepStrictEqual(before, content)) return read
  if (read.status === 'paid' && !isSamePrice(before, content)) throw orderPaid({ orderId: read._id })
  const by = changedBy(principal)
  const left = [...OPTIONAL_MEMBERS.filter((member) => content[member] === undefined), ...Object.keys(by.$unset)]
  const members = asLiterals({ ...sealMembers(read._id, storedContent(content), encryption), ...by.$set })
  const written = await updateOrder(orders, read, [
    { $set: { ...members, updatedAt: '$$NOW', version: { $add: ['$version', 1] } } },
    ...(left.length === 0 ? [] : [{ $unset: left }]),
    // Computed from the receipts in the same write, because they change without a new version.
    NAME_FORMER_CUSTOMERS,
  ])
  return isLive(written) ? written : null
}

function isSamePrice(one: OrderContent, other: OrderContent): boolean {
  return one.currency === other.currency && isDeepStrictEqual(one.items, other.items)
}
