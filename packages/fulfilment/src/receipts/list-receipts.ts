// The outbox as operators and metrics see it: a page of receipts, and how many are unsent.
import { invalidRequest } from '@oncehook/kernel/http/error-codes'
import type { Document } from 'mongodb'
import { z } from 'zod'
import type { ReceiptBacklog } from '../metrics.ts'
import { ORDER_ID, orderStatusSchema } from '../orders/order.ts'
import type { ReceiptState, StoredReceipt } from '../orders/stored/order-document.ts'
import { DURABLE_READ, type Orders, reachable } from '../orders/stored/order-store.ts'

/** The requested page of receipts. `after` is the `next` of the previous page. */
export const receiptListSchema = z.strictObject({
  orderId: z.string().regex(ORDER_ID).optional(),
  state: z.enum(['owed', 'sending', 'sent', 'parked']).optional(),
  limit: z.int().min(1).max(100).default(20),
  after: z.string().max(1_024).optional(),
})

type ReceiptListRequest = z.output<typeof receiptListSchema>

/** A receipt as shown to an operator. Times are ISO 8601, UTC. */
interface ReceiptView {
  readonly key: string
  readonly orderId: string
  readonly paymentId: string
  readonly amount: number
  readonly currency: string
  readonly paidAt: string
  readonly state: ReceiptState
  readonly attempts: number
  readonly lastError: { readonly code: string; readonly at: string } | null
  readonly sentAt: string | null
}

/** One page, newest order first. `next` is null on the last page. */
export interface ReceiptPage {
  readonly items: ReceiptView[]
  readonly next: string | null
}

interface Row {
  readonly _id: string
  /** Missing after the order was deleted. */
  readonly createdAt?: Date
  readonly receipt: StoredReceipt
}

/**
 * Lists receipts, those of the newest orders first and those of deleted orders last, in the order of their ids. Receipts without a
 * key are skipped. An invalid time is shown as 1970.
 * @throws invalidRequest if `after` is not a valid cursor
 */
export async function listReceipts(orders: Orders, request: ReceiptListRequest): Promise<ReceiptPage> {
  const after = request.after === undefined ? null : readCursor(request.after)
  const live = after?.createdAt === null ? [] : await readRows(orders, request, { isLive: true, after })
  const isFull = live.length > request.limit
  const gone = isFull ? [] : await readRows(orders, request, { isLive: false, after: after?.createdAt ? null : after })
  const page = [...live, ...gone].slice(0, request.limit)
  const last = page.at(-1)
  const hasMore = live.length + gone.length > request.limit && last !== undefined
  return { items: page.map(toView), next: hasMore ? writeCursor(last) : null }
}

/** Where a search begins, among orders that exist or among those that were deleted. */
interface Part {
  readonly isLive: boolean
  readonly after: Position | null
}

/** Reads one receipt more than the page has. */
async function readRows(orders: Orders, request: ReceiptListRequest, part: Part): Promise<Row[]> {
  const { orderId, state, limit } = request
  const { isLive, after } = part
  const sort = isLive ? { createdAt: -1, _id: -1 } : { _id: -1 }
  const isAfter = after === null ? {} : { $or: [{ _id: { $ne: after.id } }, { 'receipts.key': { $gt: after.key } }] }
  const pipeline = [
    { $match: { ...matchOf(request), ...positionOf(part) } },
    { $sort: sort },
    // Each order has a receipt for the page, except perhaps the first: its receipts may all be on the previous page.
    { $limit: limit + 2 },
    { $project: { createdAt: 1, receipts: 1 } },
    { $unwind: '$receipts' },
    {
      $match: {
        ...(state === undefined ? {} : { 'receipts.state': state }),
        'receipts.key': HAS_KEY.key,
        ...isAfter,
      },
    },
    { $sort: { ...sort, 'receipts.key': 1 } },
    { $limit: limit + 1 },
    { $project: { createdAt: 1, receipt: '$receipts' } },
  ]
  const hint = isUnsettled(state) ? 'receipts_unsettled' : 'newest_by_status'
  const options = { ...DURABLE_READ, ...(orderId === undefined ? { hint } : {}) }
  return reachable(() => orders.aggregate<Row>(pipeline, options).toArray())
}

/** The index of unsettled receipts has these only, because a sent receipt has no due time. */
function isUnsettled(state: ReceiptState | undefined): boolean {
  return state !== undefined && state !== 'sent'
}

function matchOf({ orderId, state }: ReceiptListRequest): Document {
  return {
    ...(orderId === undefined ? {} : { _id: { $eq: orderId } }),
    receipts: { $elemMatch: { ...HAS_KEY, ...(state === undefined ? {} : { state }) } },
    ...(isUnsettled(state) ? { 'receipts.dueAt': { $exists: true } } : {}),
  }
}

/** The orders of a part, from its position on. */
function positionOf({ isLive, after }: Part): Document {
  const status = isLive ? { $in: orderStatusSchema.options } : 'deleted'
  if (after === null) return { status }
  const { createdAt, id } = after
  if (createdAt === null) return { status, $nor: [{ _id: { $gt: id } }] }
  return { status, createdAt: { $lte: createdAt }, $nor: [{ createdAt, _id: { $gt: id } }] }
}

// An imported order may contain other values here.
const HAS_KEY = { key: { $type: 'string' } } as const

function toView({ _id, receipt }: Row): ReceiptView {
  const { key, paymentId, amount, currency, paidAt, state, attempts, lastError, sentAt } = receipt
  return {
    key,
    orderId: _id,
    paymentId,
    amount,
    currency,
    paidAt: instantOf(paidAt) ?? UNKNOWN_TIME,
    state,
    attempts,
    lastError: lastError ? { code: lastError.code, at: instantOf(lastError.at) ?? UNKNOWN_TIME } : null,
    sentAt: instantOf(sentAt),
  }
}

const UNKNOWN_TIME = new Date(0).toISOString()

function instantOf(stored: unknown): string | null {
  return stored instanceof Date && !Number.isNaN(stored.getTime()) ? stored.toISOString() : null
}

/** The place of a receipt in the list. `createdAt` is that of its order, null if it was deleted. */
interface Position {
  readonly createdAt: Date | null
  readonly id: string
  readonly key: string
}

// The last time that JavaScript knows.
const LAST_MS = 8.64e15
// With the time: an order that is deleted after its page was read has no other any more.
const cursorSchema = z.tuple([z.int().min(-LAST_MS).max(LAST_MS).nullable(), z.string(), z.string()])

function writeCursor({ _id, createdAt, receipt }: Row): string {
  const at = createdAt instanceof Date ? createdAt.getTime() : null
  return Buffer.from(JSON.stringify([at, _id, receipt.key])).toString('base64url')
}

function readCursor(cursor: string): Position {
  try {
    const [at, id, key] = cursorSchema.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()))
    return { createdAt: at === null ? null : new Date(at), id, key }
  } catch {
    throw invalidRequest({}, { message: 'The parameter after is not a valid cursor' })
  }
}

/** Counting stops at this number of orders. An exact count beyond it is of no use. */
const MOST = 100_000

/** Counts the unsent receipts by the database clock, up to a limit. */
export async function readReceiptBacklog(orders: Orders): Promise<ReceiptBacklog> {
  const isOpen = { $in: ['$receipts.state', ['owed', 'sending']] }
  const [found] = await orders
    .aggregate<ReceiptBacklog>(
      [
        { $match: { 'receipts.dueAt': { $exists: true } } },
        { $limit: MOST },
        { $unwind: '$receipts' },
        {
          $group: {
            _id: null,
            unsettled: { $sum: { $cond: [isOpen, 1, 0] } },
            parked: { $sum: { $cond: [{ $eq: ['$receipts.state', 'parked'] }, 1, 0] } },
            oldest: { $min: { $cond: [isOpen, '$receipts.paidAt', '$$NOW'] } },
          },
        },
        { $set: { oldestSeconds: { $divide: [{ $max: [0, { $subtract: ['$$NOW', '$oldest'] }] }, 1_000] } } },
      ],
      { readPreference: 'primary', maxTimeMS: 4_000, hint: 'receipts_unsettled' },
    )
    .toArray()
  return found ?? { unsettled: 0, parked: 0, oldestSeconds: 0 }
}
