import type { Preconditions } from '@oncehook/kernel/preconditions'
import { readConditions } from '../conditions.ts'
import { idMismatch, orderNotFound } from '../errors.ts'
import type { ByPrincipal } from './by-principal.ts'
import { isJsonObject } from './merge-patch.ts'
import { type Order, type OrderContent, parseOrderContent } from './order.ts'
import { replaceContent } from './replace-content.ts'
import { demandReadable } from './stored/is-readable.ts'
import {
  INITIAL_STATE,
  isForeign,
  isLive,
  type LiveOrder,
  madeBy,
  storedContent,
  type Tombstone,
  toOrder,
  unstoredOrder,
} from './stored/order-document.ts'
import { openOrder, sealMembers } from './stored/order-encryption.ts'
import {
  insertOrder,
  MADE_NOW,
  type OrderCollection,
  readOrder,
  retryOnConflict,
  updateOrder,
} from './stored/order-store.ts'

/** Dependencies of order writes. */
export interface OrderDeps extends OrderCollection {
  readonly random: () => number
}

/** A request to replace an order completely, or to create it under the id given by the caller. */
export interface PutRequest extends Preconditions, ByPrincipal {
  readonly id: string
  /** The order as sent. It is validated after the preconditions (RFC 9110 section 13.2.1). */
  readonly order: unknown
}

/**
 * Creates or replaces an order as defined in RFC 9110 section 9.3.4. Omitted properties are removed, an equal order
 * changes nothing, and a deleted id continues with the next version. Exactly one of several equal parallel calls
 * reports that it created the order.
 * @throws orderUnreadable, preconditionFailed, invalidRequest, idMismatch, orderNotFound for an order of another
 * principal, orderPaid, unavailable; in this order
 */
export function putOrder(deps: OrderDeps, request: PutRequest): Promise<{ order: Order; created: boolean }> {
  const check = readConditions(request)
  return retryOnConflict(deps.random, async () => {
    const stored = await readOrder(deps.orders, request.id)
    // Until there is something to create, an order of another principal is answered as none.
    const found = isForeign(stored, request.owner) ? null : stored
    if (isLive(found)) demandReadable(found)
    check(isLive(found) ? found.version : null)
    const content = readContent(request)
    if (found !== stored) throw orderNotFound()
    const { principal = null } = request
    const answer = (order: LiveOrder | null, created: boolean): { order: Order; created: boolean } | null =>
      order === null ? null : { order: toOrder(openOrder(order, deps.encryption)), created }
    if (isLive(found)) return answer(await replaceContent(deps, found, { content, principal }), false)
    if (found !== null) return answer(await recreate(deps, found, { content, principal }), true)
    return answer(await insertOrder(deps, unstoredOrder(request.id, content, principal)), true)
  })
}

function readContent({ id, order }: PutRequest): OrderContent {
  const content = parseOrderContent(order)
  if (isJsonObject(order) && Object.hasOwn(order, 'id') && order.id !== id) throw idMismatch()
  return content
}

/** An order created again under a deleted id. Everything is new except the permanent fields. */
async function recreate(
  { orders, encryption }: OrderDeps,
  tombstone: Tombstone,
  { content, principal }: { readonly content: OrderContent; readonly principal: string | null },
): Promise<LiveOrder | null> {
  const sealed = sealMembers(tombstone._id, storedContent(content), encryption)
  // The worker owns the receipts, so they are left as they are now.
  const members = { ...INITIAL_STATE, ...sealed, ...madeBy(principal), version: tombstone.version + 1 }
  const written = await updateOrder(orders, tombstone, [
    { $replaceWith: { $mergeObjects: ['$$ROOT', { $literal: members }, MADE_NOW] } },
    { $unset: principal === null ? ['deletedAt', 'createdBy', 'changedBy'] : ['deletedAt'] },
  ])
  return isLive(written) ? written : null
}
