import { isDeepStrictEqual } from 'node:util'
import { orderPaid } from '../errors.ts'
import type { OrderContent } from './order.ts'
import { contentOf, isLive, type LiveOrder, OPTIONAL_MEMBERS, storedContent } from './order-document.ts'
import { type Orders, updateOrder } from './order-store.ts'

/**
 * Gives a stored order another content, if it still has the version that was read. A content equal to the stored one
 * changes nothing at all. Null: somebody was faster.
 * @throws orderPaid when a paid order would get other items or another currency
 */
export async function replaceContent(
  orders: Orders,
  read: LiveOrder,
  content: OrderContent,
): Promise<LiveOrder | null> {
  const before = contentOf(read)
  if (isDeepStrictEqual(before, content)) return read
  if (read.status === 'paid' && !isSamePrice(before, content)) throw orderPaid({ orderId: read._id })
  const left = OPTIONAL_MEMBERS.filter((member) => content[member] === undefined)
  const written = await updateOrder(orders, read, {
    $set: storedContent(content),
    $currentDate: { updatedAt: true },
    $inc: { version: 1 },
    ...(left.length === 0 ? {} : { $unset: Object.fromEntries(left.map((member) => [member, ''])) }),
  })
  return isLive(written) ? written : null
}

function isSamePrice(one: OrderContent, other: OrderContent): boolean {
  return one.currency === other.currency && isDeepStrictEqual(one.items, other.items)
}
