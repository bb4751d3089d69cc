import { CLOCK_STEP_MS } from '@oncehook/kernel/mongo/database-clock'
import type { Db } from 'mongodb'
import { ORDERS, type OrderDocument, type StoredReceipt } from '../../orders/stored/order-document.ts'

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
  // The hinted index returns the earliest due time first. A sort would load the whole backlog, because the index is multikey.
  const orders = await db
    .collection<OrderDocument>(ORDERS)
    .find(
      { ...bounds, receipts: { $elemMatch: isDue } },
      { readPreference: 'primary', maxTimeMS: 4_000, hint: 'receipts_unsettled', limit },
    )
    .project<Pick<OrderDocument, '_id' | 'receipts'>>({ receipts: 1 })
    .toArray()
  return orders
    .flatMap(({ _id, receipts }) => receipts.filter(isReceipt).map((receipt) => ({ orderId: _id, receipt })))
    .filter(({ receipt: { dueAt } }) => dueAt instanceof Date && (dueAt <= now || dueAt > latest))
    .slice(0, limit)
}

// An imported order may contain other values here. They must not take the place of receipts that can be sent.
const IS_RECEIPT = { key: { $type: 'string' }, fence: { $type: 'number' } } as const

export function isReceipt(stored: Partial<StoredReceipt> | null): boolean {
  return typeof stored?.key === 'string' && Number.isSafeInteger(stored.fence)
}
