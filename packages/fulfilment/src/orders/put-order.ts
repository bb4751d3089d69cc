import { type Conditions, readConditions } from '../conditions.ts'
import { idMismatch, orderNotFound } from '../errors.ts'
import type { ByPrincipal } from './by-principal.ts'
import { demandReadable } from './is-readable.ts'
import { isJsonObject } from './merge-patch.ts'
import { type Order, type OrderContent, parseOrderContent } from './order.ts'
import {
  FRESH,
  isForeign,
  isLive,
  type LiveOrder,
  madeBy,
  storedContent,
  type Tombstone,
  toOrder,
  unstoredOrder,
} from './order-document.ts'
import { openOrder, sealMembers } from './order-encryption.ts'
import { insertOrder, MADE_NOW, type OrderCollection, readOrder, untilUnbeaten, updateOrder } from './order-store.ts'
import { replaceContent } from './replace-content.ts'

/** What writing orders works with. */
export interface OrderDeps extends OrderCollection {
  readonly random: () => number
}

/** A full replacement of an order, or its making under an id of the caller's. */
export interface PutRequest extends Conditions, ByPrincipal {
  readonly id: string
  /** The order as sent: it is looked at after the conditions (RFC 9110 section 13.2.1). */
  readonly order: unknown
}

/**
 * Puts an order in place as RFC 9110 section 9.3.4 asks: what is left out is gone, an equal order changes nothing, a
 * deleted id goes on with the next version. Of any number of equal parallel calls one has created it.
 * @throws orderNotFound for an order of another principal, orderUnreadable, preconditionFailed, invalidRequest, idMismatch, orderPaid,
 * unavailable
 */
export function putOrder(deps: OrderDeps, request: PutRequest): Promise<{ order: Order; created: boolean }> {
  const check = readConditions(request)
  return untilUnbeaten(deps.random, async () => {
    const found = await readOrder(deps.orders, request.id)
    if (isForeign(found, request.owner)) throw orderNotFound()
    if (isLive(found)) demandReadable(found)
    check(isLive(found) ? found.version : null)
    const content = readContent(request)
    const { principal = null } = request
    const answer = (order: LiveOrder | null, created: boolean): { order: Order; created: boolean } | null =>
      order === null ? null : { order: toOrder(openOrder(order, deps.encryption)), created }
    if (isLive(found)) return answer(await replaceContent(deps, found, { content, principal }), false)
    if (found !== null) return answer(await revive(deps, found, { content, principal }), true)
    return answer(await insertOrder(deps, unstoredOrder(request.id, content, principal)), true)
  })
}

function readContent({ id, order }: PutRequest): OrderContent {
  const content = parseOrderContent(order)
  if (isJsonObject(order) && Object.hasOwn(order, 'id') && order.id !== id) throw idMismatch()
  return content
}

/** The next life of a deleted order: all of it new, but for what must never be forgotten. */
async function revive(
  { orders, encryption }: OrderDeps,
  grave: Tombstone,
  { content, principal }: { readonly content: OrderContent; readonly principal: string | null },
): Promise<LiveOrder | null> {
  const sealed = sealMembers(grave._id, storedContent(content), encryption)
  // The receipts are the worker's, so they stay as they are now.
  const members = { ...FRESH, ...sealed, ...madeBy(principal), version: grave.version + 1 }
  const written = await updateOrder(orders, grave, [
    { $replaceWith: { $mergeObjects: ['$$ROOT', { $literal: members }, MADE_NOW] } },
    { $unset: principal === null ? ['deletedAt', 'createdBy', 'changedBy'] : ['deletedAt'] },
  ])
  return isLive(written) ? written : null
}
