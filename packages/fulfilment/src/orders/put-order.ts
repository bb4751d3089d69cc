import type { Clock } from '@oncehook/kernel/clock'
import { type Conditions, readConditions } from '../conditions.ts'
import { idMismatch } from '../errors.ts'
import { isJsonObject } from './merge-patch.ts'
import { type Order, type OrderContent, parseOrderContent } from './order.ts'
import { FRESH, isLive, type LiveOrder, newOrder, storedContent, type Tombstone, toOrder } from './order-document.ts'
import { insertOrder, type Orders, readOrder, untilUnbeaten, updateOrder } from './order-store.ts'
import { replaceContent } from './replace-content.ts'

/** What writing orders works with. */
export interface OrderDeps {
  readonly orders: Orders
  readonly clock: Clock
  readonly random: () => number
}

/** A full replacement of an order, or its making under an id of the caller's. */
export interface PutRequest extends Conditions {
  readonly id: string
  /** The order as sent: it is looked at after the conditions (RFC 9110 section 13.2.1). */
  readonly order: unknown
}

/**
 * Puts an order in place as RFC 9110 section 9.3.4 asks: what is left out is gone, an equal order changes nothing, a
 * deleted id goes on with the next version. Of any number of equal parallel calls one has created it.
 * @throws preconditionFailed, invalidRequest, idMismatch, orderPaid, unavailable
 */
export function putOrder(deps: OrderDeps, request: PutRequest): Promise<{ order: Order; created: boolean }> {
  const check = readConditions(request)
  return untilUnbeaten(deps.random, async () => {
    const found = await readOrder(deps.orders, request.id)
    check(isLive(found) ? found.version : null)
    const content = readContent(request)
    const now = new Date(deps.clock.now())
    if (isLive(found)) return answer(await replaceContent(deps.orders, found, { content, now }), false)
    const made = found === null ? null : revived(found, content, now)
    return answer(await (made === null ? insert(deps, newOrder(request.id, content, now)) : revive(deps, made)), true)
  })
}

function readContent({ id, order }: PutRequest): OrderContent {
  const content = parseOrderContent(order)
  if (isJsonObject(order) && Object.hasOwn(order, 'id') && order.id !== id) throw idMismatch()
  return content
}

function answer(order: LiveOrder | null, created: boolean): { order: Order; created: boolean } | null {
  return order === null ? null : { order: toOrder(order), created }
}

async function insert({ orders }: OrderDeps, order: LiveOrder): Promise<LiveOrder | null> {
  return (await insertOrder(orders, order)) ? order : null
}

/** The next life of a deleted order: all of it new, but for what must never be forgotten. */
function revived(grave: Tombstone, content: OrderContent, now: Date): LiveOrder {
  const { deletedAt: _, ...kept } = grave
  return { ...kept, ...FRESH, ...storedContent(content), version: grave.version + 1, createdAt: now, updatedAt: now }
}

async function revive({ orders }: OrderDeps, order: LiveOrder): Promise<LiveOrder | null> {
  // The version has moved by one since the tombstone was read; the receipts are the worker's, so they stay untouched.
  const { _id, version, applied: _a, receipts: _r, paidBy: _p, ...members } = order
  const written = await updateOrder(
    orders,
    { _id, version: version - 1 },
    {
      $set: members,
      $inc: { version: 1 },
      $unset: { deletedAt: '' },
    },
  )
  return written ? order : null
}
