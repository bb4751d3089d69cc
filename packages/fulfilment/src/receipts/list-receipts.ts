// The outbox as operators and metrics see it: a page of receipts, and how many are unsent.
import { invalidRequest } from '@oncehook/kernel/http/error-codes'
import { z } from 'zod'
import type { ReceiptBacklog } from '../metrics.ts'
import type { ReceiptState, StoredReceipt } from '../orders/stored/order-document.ts'
import { DURABLE_READ, type Orders, reachable } from '../orders/stored/order-store.ts'

/** The requested page of receipts. `after` is the `next` of the previous page. */
export interface ReceiptListRequest {
  readonly orderId?: string | undefined
  readonly state?: ReceiptState | undefined
  readonly limit: number
  readonly after?: string | undefined
}

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

/** One page, ordered by order id. `next` is null on the last page. */
export interface ReceiptPage {
  readonly items: ReceiptView[]
  readonly next: string | null
}

interface Row {
  readonly _id: string
  readonly receipt: StoredReceipt
}

/**
 * Lists receipts by order id and key, including those of deleted orders. Receipts without a key are skipped. An
 * invalid time is shown as 1970.
 * @throws invalidRequest if `after` is not a valid cursor
 */
export async function listReceipts(orders: Orders, request: ReceiptListRequest): Promise<ReceiptPage> {
  const rows = await readRows(orders, request)
  const page = rows.slice(0, request.limit)
  const last = page.at(-1)
  const next = rows.length > request.limit && last !== undefined ? writeCursor(last) : null
  return { items: page.map(toView), next }
}

async function readRows(orders: Orders, { orderId, state, limit, after }: ReceiptListRequest): Promise<Row[]> {
  const [afterId, afterKey] = after === undefined ? ['', ''] : readCursor(after)
  const ofState = state === undefined ? {} : { 'receipts.state': state }
  const pipeline = [
    {
      $match: {
        _id: orderId === undefined ? { $gte: afterId } : { $gte: afterId, $eq: orderId },
        receipts: { $elemMatch: { ...HAS_KEY, ...(state === undefined ? {} : { state }) } },
        // The index of unsettled receipts has these only, because a sent receipt has no due time.
        ...(state === undefined || state === 'sent' ? {} : { 'receipts.dueAt': { $exists: true } }),
      },
    },
    { $sort: { _id: 1 } },
    // Each order has a receipt for the page, except perhaps the first: its receipts may all be on the previous page.
    { $limit: limit + 2 },
    { $project: { receipts: 1 } },
    { $unwind: '$receipts' },
    {
      $match: {
        ...ofState,
        'receipts.key': HAS_KEY.key,
        $or: [{ _id: { $gt: afterId } }, { 'receipts.key': { $gt: afterKey } }],
      },
    },
    { $sort: { _id: 1, 'receipts.key': 1 } },
    { $limit: limit + 1 },
    { $project: { receipt: '$receipts' } },
  ]
  return reachable(() => orders.aggregate<Row>(pipeline, DURABLE_READ).toArray())
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

/** The end of a page: the id of its last order, and the key of its last receipt. */
const cursorSchema = z.tuple([z.string(), z.string()])

function writeCursor({ _id, receipt }: Row): string {
  return Buffer.from(JSON.stringify([_id, receipt.key])).toString('base64url')
}

function readCursor(cursor: string): z.output<typeof cursorSchema> {
  try {
    return cursorSchema.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()))
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
