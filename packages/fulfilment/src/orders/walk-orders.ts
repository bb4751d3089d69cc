import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import { MAJORITY } from '@oncehook/kernel/mongo/majority'
import type { Collection, Db, Document } from 'mongodb'
import { DURABLE_READ } from '../durable-read.ts'
import { ORDERS, type OrderDocument } from './order-document.ts'

const AT_ONCE = 500
const SEARCH_MS = 4_000

/** How far a walk is. */
export interface WalkProgress {
  readonly _id: string
  /** The id up to which orders are looked at. */
  readonly after: string
  /** When the last one was looked at; null while the walk is not at its end. */
  readonly doneAt: Date | null
  /** Whether it has been at its end before. */
  readonly wasDone?: true
}

const WEEK_MS = 7 * 86_400_000

/** A change of all orders that need it. */
export interface Walk {
  /** By which its progress is kept. */
  readonly name: string
  readonly needed: Document
  readonly update: Document[]
}

/** The progress of all walks. */
export function walkProgress(db: Db): Collection<WalkProgress> {
  return db.collection<WalkProgress>('housekeeping')
}

/** Whether a walk has been over all orders at least once. */
export async function isWalked(walks: Collection<WalkProgress>, name: string): Promise<boolean> {
  return (await walks.findOne({ _id: { $eq: name } }, DURABLE_READ))?.wasDone === true
}

/**
 * Walks the orders by their ids in slices, and changes those that need it. A process that comes next continues behind the last
 * slice. A week after its end the walk begins again: a process of an earlier release may have worked beside it.
 */
export async function walkOrders(db: Db, { name, needed, update }: Walk, stopping: AbortSignal): Promise<void> {
  const walks = walkProgress(db)
  const progress = await walks.findOne({ _id: name })
  if (progress?.doneAt && Math.abs(Date.now() - progress.doneAt.getTime()) < WEEK_MS) return
  let after = progress?.doneAt ? '' : (progress?.after ?? '')
  for (let isDone = false; !isDone && !stopping.aborted; ) {
    const slice = await db
      .collection<OrderDocument>(ORDERS)
      .find({ _id: { $gt: after } }, { hint: { _id: 1 }, maxTimeMS: SEARCH_MS })
      .project<Pick<OrderDocument, '_id'>>({ _id: 1 })
      .sort({ _id: 1 })
      .limit(AT_ONCE)
      .toArray()
    const q = { _id: { $in: slice.map(({ _id }) => _id) }, ...needed }
    if (slice.length > 0) await bulkUpdate(db, { update: ORDERS, updates: [{ q, u: update, multi: true }] })
    after = slice.at(-1)?._id ?? after
    isDone = slice.length < AT_ONCE
    const $set = { after, doneAt: isDone ? new Date() : null, ...(isDone ? { wasDone: true as const } : {}) }
    await walks.updateOne({ _id: name }, { $set }, { upsert: true, writeConcern: MAJORITY })
  }
}
