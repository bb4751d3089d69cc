import { CLOCK_STEP_MS } from '@oncehook/kernel/mongo/database-clock'
import type { Db, Filter, FindOptions } from 'mongodb'
import { ORDERS, type OrderDocument, type StoredReceipt } from '../../orders/stored/order-document.ts'

/** A receipt that may be claimed. */
export interface Due {
  readonly orderId: string
  readonly receipt: StoredReceipt
}

/** The lease time and the maximum delay of a receipt are in milliseconds. */
interface DueOptions {
  readonly leaseMs: number
  readonly maxWaitMs: number
  readonly now: Date
  readonly limit: number
}

/** Finds due receipts. A due time later than the maximum was set by a clock that was ahead, so it counts as due. */
export async function findDue(db: Db, { now, limit, leaseMs, maxWaitMs }: DueOptions): Promise<Due[]> {
  const latest = new Date(now.getTime() + Math.max(leaseMs, maxWaitMs) + CLOCK_STEP_MS)
  const ranges = [{ $lte: now }, { $gt: latest }]
  const isDue = { ...IS_RECEIPT, $or: ranges.map((dueAt) => ({ dueAt })) }
  // $elemMatch does not set index bounds.
  const bounds = { $or: ranges.map((range) => ({ 'receipts.dueAt': range })) }
  const found = await findReceipts(db, { ...bounds, receipts: { $elemMatch: isDue } }, { limit })
  return found
    .filter(({ receipt: { dueAt } }) => dueAt instanceof Date && (dueAt <= now || dueAt > latest))
    .slice(0, limit)
}

const REST_MS = 2_000
const MANY_ATTEMPTS = 8
const LONG_REST_MS = 30_000

interface Deferred {
  readonly now: Date
  readonly limit: number
  readonly exceptCodes: readonly string[]
}

/** Finds deferred receipts before they are due. Their last attempt must be some time ago. */
export async function findDeferred(db: Db, { now, limit, exceptCodes }: Deferred): Promise<Due[]> {
  const rested = new Date(now.getTime() - REST_MS)
  const longRested = new Date(now.getTime() - LONG_REST_MS)
  // The clock that recorded an attempt in the future was ahead.
  const yetToCome = new Date(now.getTime() + CLOCK_STEP_MS)
  const isDeferred = {
    ...IS_RECEIPT,
    state: 'owed',
    dueAt: { $gt: now },
    'lastError.code': { $exists: true, $nin: exceptCodes },
    $or: [
      { attempts: { $lt: MANY_ATTEMPTS }, 'lastError.at': { $lte: rested } },
      { 'lastError.at': { $lte: longRested } },
      { 'lastError.at': { $gt: yetToCome } },
    ],
  }
  const bounds = { 'receipts.dueAt': { $gt: now } }
  const found = await findReceipts(db, { ...bounds, receipts: { $elemMatch: isDeferred } }, { limit })
  const mayGo = ({ state, dueAt, lastError, attempts }: StoredReceipt): boolean =>
    state === 'owed' &&
    dueAt instanceof Date &&
    dueAt > now &&
    lastError !== null &&
    !exceptCodes.includes(lastError.code) &&
    (lastError.at <= (attempts < MANY_ATTEMPTS ? rested : longRested) || lastError.at > yetToCome)
  return found.filter(({ receipt }) => mayGo(receipt)).slice(0, limit)
}

/**
 * The due time of a receipt that waits for a key. As a text it is in the index of the unsettled, and never among those
 * that are due: however many wait, the others are found without passing them.
 */
export function waitingMark(keyId: string, since: Date): string {
  return `${keyId} ${since.toISOString()}`
}

/** Finds receipts that wait for an encryption key. */
export async function findWaiting(db: Db, keyId: string, limit: number): Promise<Due[]> {
  // The marks of this key and no others: an id has no character before `!`.
  const [first, end] = [`${keyId} `, `${keyId}!`]
  const filter = {
    receipts: { $elemMatch: { ...IS_RECEIPT, state: 'owed', dueAt: { $gte: first, $lt: end } } },
  } as const
  // Two conditions on the elements of a list would bound the index on one side only.
  const bounds = { min: { 'receipts.dueAt': first }, max: { 'receipts.dueAt': end } }
  const found = await findReceipts(db, filter, { limit, ...bounds })
  const isWaiting = ({ state, dueAt }: StoredReceipt): boolean =>
    state === 'owed' && typeof dueAt === 'string' && dueAt >= first && dueAt < end
  return found.filter(({ receipt }) => isWaiting(receipt)).slice(0, limit)
}

/** When a receipt was last tried, in milliseconds. */
export function triedAt({ receipt }: Due): number {
  // Something else may have written it.
  const at: unknown = receipt.lastError?.at
  return at instanceof Date ? at.getTime() : 0
}

// The hinted index returns the earliest due time first. A sort would load the whole backlog, because the index is
// multikey.
async function findReceipts(
  db: Db,
  filter: Filter<OrderDocument>,
  range: Pick<FindOptions, 'limit' | 'min' | 'max'>,
): Promise<Due[]> {
  const orders = await db
    .collection<OrderDocument>(ORDERS)
    .find(filter, { readPreference: 'primary', maxTimeMS: 4_000, hint: 'receipts_unsettled', ...range })
    .project<Pick<OrderDocument, '_id' | 'receipts'>>({ receipts: 1 })
    .toArray()
  return orders.flatMap(({ _id, receipts }) => receipts.filter(isReceipt).map((receipt) => ({ orderId: _id, receipt })))
}

// An imported order may contain other values here. They must not take the place of receipts that can be sent.
const IS_RECEIPT = { key: { $type: 'string' }, fence: { $type: 'number' } } as const

/** Whether a stored value is a receipt of this service. */
export function isReceipt(stored: Partial<StoredReceipt> | null): boolean {
  return typeof stored?.key === 'string' && Number.isSafeInteger(stored.fence)
}
