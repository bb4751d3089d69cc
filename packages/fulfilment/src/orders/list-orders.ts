import { invalidRequest } from '@oncehook/kernel/http/error-codes'
import type { Logger } from '@oncehook/kernel/log/logger'
import type { Encryption } from '@oncehook/kernel/secrets/encryption'
import type { Filter } from 'mongodb'
import { z } from 'zod'
import { orderUnreadable } from '../errors.ts'
import { ORDER_ID, type Order, orderIdSchema, orderSchema, orderStatusSchema } from './order.ts'
import { type LiveOrder, type OrderDocument, toOrder } from './stored/order-document.ts'
import { isReadable, openOrder, reportUnreadable } from './stored/order-encryption.ts'
import { DURABLE_READ, HIDDEN, type OrderCollection, type Orders, reachable } from './stored/order-store.ts'

/** The end of a page: the creation time of its last order (milliseconds, within the range of a Date) and its id. */
const ORDER_CURSOR = /^([0-9]{1,15})\.([A-Za-z0-9._~-]{1,128})$/

/** Restricts a call to the orders of this principal. Absent: all orders. */
export const ownerSchema = z.string().min(1).max(64).optional()

/** The requested page of orders. `after` is the `next` of the previous page. */
export const listRequestSchema = z.strictObject({
  limit: z.int().min(1).max(100).default(20),
  after: z.string().regex(ORDER_CURSOR, { error: 'is not a valid cursor' }).optional(),
  status: orderStatusSchema.optional(),
  owner: ownerSchema,
})

/**
 * One page, newest first. `next` is null on the last page. `unreadable` has the ids of orders of the page that are damaged and
 * cannot be shown; it is absent where there are none.
 */
export const orderPageSchema = z.strictObject({
  items: z.array(orderSchema).max(100),
  unreadable: z.array(orderIdSchema).max(100).optional(),
  next: z.string().regex(ORDER_CURSOR).nullable(),
})

export interface ListDeps extends OrderCollection {
  readonly logger: Logger
}

/**
 * Lists orders, newest first, without deleted ones. Orders created while a client is paging appear on the first page
 * only, so later pages neither repeat nor omit an order. Documents that are not readable orders are named in
 * `unreadable` and in the log, so a page may have fewer than `limit` orders.
 * @throws invalidRequest if `after` is not a valid cursor, keyUnknown if the key of an order of the page is missing
 */
export async function listOrders(
  { orders, encryption, logger }: ListDeps,
  { limit, after, status, owner }: z.output<typeof listRequestSchema>,
): Promise<z.output<typeof orderPageSchema>> {
  const filter: Filter<OrderDocument> = {
    status: { $in: status === undefined ? orderStatusSchema.options : [status] },
    ...(owner === undefined ? {} : { createdBy: { $eq: owner } }),
    // A cursor cannot represent the others.
    _id: ORDER_ID,
    ...(after === undefined ? { createdAt: { $gte: OLDEST, $lt: PAST_CURSORS } } : olderThan(after)),
  }
  const found = await readPage(orders, filter, limit + 1)
  const items = found.slice(0, limit)
  const last = items.at(-1)
  const next = found.length > limit && last !== undefined ? `${last.createdAt.getTime()}.${last._id}` : null
  const shown = items.map((order) => show(order, encryption))
  const unreadable = items.filter((_, index) => shown[index] === null).map(({ _id }) => _id)
  for (const orderId of unreadable) reportUnreadable(logger, { orderId })
  return {
    items: shown.filter((order) => order !== null),
    ...(unreadable.length === 0 ? {} : { unreadable }),
    next,
  }
}

/** Null where it is damaged. */
function show(order: LiveOrder, encryption: Encryption): Order | null {
  if (!isReadable(order)) return null
  try {
    return toOrder(openOrder(order, encryption))
  } catch (error) {
    if (orderUnreadable.is(error)) return null
    throw error
  }
}

const OLDEST = new Date(0)
const PAST_CURSORS = new Date(1e15)

function olderThan(cursor: string): Filter<OrderDocument> {
  const [, time, id] = ORDER_CURSOR.exec(cursor) ?? []
  if (time === undefined || id === undefined) {
    throw invalidRequest({}, { message: 'The parameter after is not a valid cursor' })
  }
  const createdAt = new Date(Number(time))
  return {
    createdAt: { $gte: OLDEST, $lte: createdAt },
    $or: [{ createdAt: { $lt: createdAt } }, { _id: { $lt: id } }],
  }
}

function readPage(orders: Orders, filter: Filter<OrderDocument>, limit: number): Promise<LiveOrder[]> {
  const found = orders
    .find(filter, DURABLE_READ)
    .project<LiveOrder>(HIDDEN)
    .sort({ createdAt: -1, _id: -1 })
    .limit(limit)
  return reachable(() => found.toArray())
}
