import { isDeepStrictEqual } from 'node:util'
import { invalidRequest, preconditionRequired } from '@oncehook/kernel/error-codes'
import { readConditions } from '../conditions.ts'
import { orderNotFound, patchUnprocessable } from '../errors.ts'
import type { ByPrincipal } from './by-principal.ts'
import { isJsonObject, mergePatch } from './merge-patch.ts'
import { type Order, type OrderContent, orderContentSchema, parseOrderContent } from './order.ts'
import type { OrderDeps } from './put-order.ts'
import { replaceContent } from './replace-content.ts'
import { demandReadable } from './stored/is-readable.ts'
import { isForeign, isLive, toOrder } from './stored/order-document.ts'
import { openOrder } from './stored/order-encryption.ts'
import { readOrder, retryOnConflict } from './stored/order-store.ts'

/** A request to change an order by JSON Merge Patch (RFC 7396). */
export interface PatchRequest extends ByPrincipal {
  readonly id: string
  /** The patch as sent. It is validated after the preconditions. */
  readonly patch: unknown
  readonly ifMatch: string | undefined
  readonly ifNoneMatch?: string | undefined
}

/**
 * Patches an order completely or not at all. A patch that results in an equal order changes nothing.
 * @throws orderNotFound, orderUnreadable, preconditionRequired, preconditionFailed, patchUnprocessable, orderPaid, in
 * this order
 */
export function patchOrder(deps: OrderDeps, request: PatchRequest): Promise<Order> {
  const check = readConditions(request)
  return retryOnConflict(deps.random, async () => {
    const found = await readOrder(deps.orders, request.id)
    if (!isLive(found) || isForeign(found, request.owner)) throw orderNotFound()
    demandReadable(found)
    if (request.ifMatch === undefined) throw preconditionRequired()
    check(found.version)
    const content = patchedContent(toOrder(openOrder(found, deps.encryption)), request.patch)
    const order = await replaceContent(deps, found, { content, principal: request.principal ?? null })
    return order === null ? null : toOrder(openOrder(order, deps.encryption))
  })
}

function patchedContent(order: Order, patch: unknown): OrderContent {
  if (!isJsonObject(patch)) throw patchUnprocessable({}, { message: 'A merge patch must be an object' })
  const result = mergePatch(order, patch) as Record<string, unknown>
  const { changed, content } = splitPatched(order, result)
  if (changed !== undefined)
    throw patchUnprocessable({ member: changed }, { message: `The property ${changed} cannot be changed` })
  try {
    return parseOrderContent(content)
  } catch (error) {
    // An invalid result is the fault of the patch: 422 rather than 400 (RFC 5789 section 2.2).
    if (invalidRequest.is(error)) throw patchUnprocessable({}, { message: error.message, cause: error })
    throw error
  }
}

/** Separates what a caller may write from the other properties. `changed`: one of these that the patch changes. */
function splitPatched(order: Order, result: Record<string, unknown>) {
  const isFixed = (member: string): boolean => !Object.hasOwn(orderContentSchema.shape, member)
  const fixed = new Map(Object.entries(order).filter(([member]) => isFixed(member)))
  const [changed] = [...fixed].find(([member, value]) => !isDeepStrictEqual(result[member] ?? null, value)) ?? []
  const content = Object.fromEntries(Object.entries(result).filter(([member]) => !fixed.has(member)))
  return { changed, content }
}
