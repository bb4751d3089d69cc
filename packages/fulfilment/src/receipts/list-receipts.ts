import { toUnavailable } from '@oncehook/kernel/mongo/write-outcome'
import { DURABLE_READ } from '../durable-read.ts'
import type { ReceiptState, StoredReceipt } from '../orders/order-document.ts'
import type { Orders } from '../orders/order-store.ts'
import { readCursor, writeCursor } from './cursor.ts'

/** Which page of the receipts is asked for; `after` is the `next` of the page before. */
export interface ReceiptListRequest {
  readonly orderId?: string | undefined
  readonly state?: ReceiptState | undefined
  readonly limit: number
  readonly after?: string | undefined
}

/** A receipt as an operator sees it. Times are ISO 8601, UTC. */
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

/** One page, by order id; `next` is null on the last. */
export interface ReceiptPage {
  readonly items: ReceiptView[]
  readonly next: string | null
}

interface Row {
  readonly _id: string
  readonly receipt: StoredReceipt
}

/**
 * Lists receipts by order id and key, those of deleted orders included. Those without a key are left out, and a time that
 * is none is shown as 1970.
 * @throws invalidRequest when `after` is no cursor
 */
export async function listReceipts(orders: Orders, request: ReceiptListRequest): Promise<ReceiptPage> {
  const rows = await readRows(orders, request)
  const page = rows.slice(0, request.limit)
  const last = page.at(-1)
  const next = rows.length > request.limit && last !== undefined ? writeCursor([last._id, last.receipt.key]) : null
  return { items: page.map(toView), next }
}

async function readRows(orders: Orders, { orderId, state, limit, after }: ReceiptListRequest): Promise<Row[]> {
  const [afterId, afterKey] = after === undefined ? ['', ''] : readCursor(after, ['string', 'string'])
  const ofState = state === undefined ? {} : { 'receipts.state': state }
  const pipeline = [
    {
      $match: {
        _id: orderId === undefined ? { $gte: afterId } : { $gte: afterId, $eq: orderId },
        receipts: { $elemMatch: { ...HAS_KEY, ...(state === undefined ? {} : { state }) } },
        // Only the index of what is unsettled holds these; a receipt that was sent has no due time.
        ...(state === undefined || state === 'sent' ? {} : { 'receipts.dueAt': { $exists: true } }),
      },
    },
    { $sort: { _id: 1 } },
    // Each of these has a receipt for the page, but for the first, which may have shown all of its own.
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
  try {
    return await orders.aggregate<Row>(pipeline, DURABLE_READ).toArray()
  } catch (error) {
    throw toUnavailable(error) ?? error
  }
}

// An imported order may hold other things there.
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
