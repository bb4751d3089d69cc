import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import { MAJORITY } from '@oncehook/kernel/mongo/majority'
import type { Collection, Db, Document, ObjectId } from 'mongodb'
import { DURABLE_READ } from '../durable-read.ts'
import { ORDERS } from './order-document.ts'

const AT_ONCE = 500
const SEARCH_MS = 4_000

/** An id of a document that is walked over. */
type WalkedId = string | ObjectId

/** How far a walk is. */
export interface WalkProgress {
  readonly _id: string
  /** The id up to which documents are looked at. */
  readonly after: WalkedId
  /** When the last one was looked at; null while the walk is not at its end. */
  readonly doneAt: Date | null
  /** Whether it has been at its end before. */
  readonly wasDone?: true
}

const WEEK_MS = 7 * 86_400_000

/** Work on all documents of a collection. */
export interface Walk {
  /** By which its progress is kept. */
  readonly name: string
  readonly collection: string
  /** An id below all others. */
  readonly first: WalkedId
  /** Changes those of a slice that need it. */
  readonly change: (ids: readonly WalkedId[]) => Promise<unknown>
}

/** A change of all orders that need it. */
export interface OrdersWalk extends Pick<Walk, 'name'> {
  readonly needed: Document
  readonly update: Document[]
}

/** The progress of all walks. */
export function walkProgress(db: Db): Collection<WalkProgress> {
  return db.collection<WalkProgress>('housekeeping')
}

/** Whether each of these walks has been at its end at least once. */
export async function areWalked(walks: Collection<WalkProgress>, names: readonly string[]): Promise<boolean> {
  return (await walks.countDocuments({ _id: { $in: [...names] }, wasDone: true }, DURABLE_READ)) === names.length
}

/**
 * Walks a collection by its ids in slices. A process that comes next continues behind the last slice. A week after its end the
 * walk begins again: a process of an earlier release may have worked beside it.
 */
export async function walk(db: Db, { name, collection, first, change }: Walk, stopping: AbortSignal): Promise<void> {
  const walks = walkProgress(db)
  const progress = await walks.findOne({ _id: name })
  if (progress?.doneAt && Math.abs(Date.now() - progress.doneAt.getTime()) < WEEK_MS) return
  let after = progress?.doneAt ? first : (progress?.after ?? first)
  for (let isDone = false; !isDone && !stopping.aborted; ) {
    const slice = await db
      .collection<{ _id: WalkedId }>(collection)
      .find({ _id: { $gt: after } }, { hint: { _id: 1 }, maxTimeMS: SEARCH_MS })
      .project<{ _id: WalkedId }>({ _id: 1 })
      .sort({ _id: 1 })
      .limit(AT_ONCE)
      .toArray()
    if (slice.length > 0) await change(slice.map(({ _id }) => _id))
    after = slice.at(-1)?._id ?? after
    isDone = slice.length < AT_ONCE
    const $set = { after, doneAt: isDone ? new Date() : null, ...(isDone ? { wasDone: true as const } : {}) }
    await walks.updateOne({ _id: name }, { $set }, { upsert: true, writeConcern: MAJORITY })
  }
}

/** Walks the orders, and changes those that need it. */
export function walkOrders(db: Db, { name, needed, update }: OrdersWalk, stopping: AbortSignal): Promise<void> {
  const change = (ids: readonly WalkedId[]) => {
    const q = { _id: { $in: ids }, ...needed }
    return bulkUpdate(db, { update: ORDERS, updates: [{ q, u: update, multi: true }] })
  }
  return walk(db, { name, collection: ORDERS, first: '', change }, stopping)
}
