import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import { MAJORITY } from '@oncehook/kernel/mongo/majority'
import type { Collection, Db, Document, ObjectId } from 'mongodb'
import { DURABLE_READ } from '../durable-read.ts'
import { ORDERS } from './stored/order-document.ts'

const AT_ONCE = 500
const SEARCH_MS = 4_000

/** The id of a document in a walk. */
type WalkedId = string | ObjectId

/** Progress of a walk. */
export interface WalkProgress {
  readonly _id: string
  /** Documents up to this id are done. */
  readonly after: WalkedId
  /** When the walk reached its end; null while it is running. */
  readonly doneAt: Date | null
  /** Whether it has reached its end before. */
  readonly wasDone?: true
}

const WEEK_MS = 7 * 86_400_000

/** A task that visits all documents of a collection. */
export interface Walk {
  /** The key under which its progress is stored. */
  readonly name: string
  readonly collection: string
  /** An id below all others. */
  readonly first: WalkedId
  /** Changes the documents of a slice that need it. */
  readonly change: (ids: readonly WalkedId[]) => Promise<unknown>
}

/** A change to all orders that need it. */
export interface OrdersWalk extends Pick<Walk, 'name'> {
  readonly needed: Document
  readonly update: Document[]
}

/** The progress of all walks. */
export function walkProgress(db: Db): Collection<WalkProgress> {
  return db.collection<WalkProgress>('housekeeping')
}

/** Whether each of these walks has reached its end at least once. */
export async function areWalked(walks: Collection<WalkProgress>, names: readonly string[]): Promise<boolean> {
  return (await walks.countDocuments({ _id: { $in: [...names] }, wasDone: true }, DURABLE_READ)) === names.length
}

/**
 * Visits a collection in slices, ordered by id. The next process resumes after the last slice. The walk starts again
 * one week after its end, because a process of an earlier release may have been running at the same time.
 */
export async function walk(db: Db, { name, collection, first, change }: Walk, stopping: AbortSignal): Promise<void> {
  const walks = walkProgress(db)
  const progress = await walks.findOne({ _id: name })
  if (endedLately(progress)) return
  let after = progress?.doneAt ? first : (progress?.after ?? first)
  for (let isDone = false; !isDone && !stopping.aborted; ) {
    const slice = await readSlice(db.collection(collection), after)
    if (slice.length > 0) await change(slice)
    after = slice.at(-1) ?? after
    isDone = slice.length < AT_ONCE
    const $set = { after, doneAt: isDone ? new Date() : null, ...(isDone ? { wasDone: true as const } : {}) }
    await walks.updateOne({ _id: name }, { $set }, { upsert: true, writeConcern: MAJORITY })
  }
}

function endedLately(progress: WalkProgress | null): boolean {
  return progress?.doneAt ? Math.abs(Date.now() - progress.doneAt.getTime()) < WEEK_MS : false
}

async function readSlice(documents: Collection<{ _id: WalkedId }>, after: WalkedId): Promise<WalkedId[]> {
  const slice = await documents
    .find({ _id: { $gt: after } }, { hint: { _id: 1 }, maxTimeMS: SEARCH_MS })
    .project<{ _id: WalkedId }>({ _id: 1 })
    .sort({ _id: 1 })
    .limit(AT_ONCE)
    .toArray()
  return slice.map(({ _id }) => _id)
}

/** Visits all orders and changes those that need it. */
export function walkOrders(db: Db, { name, needed, update }: OrdersWalk, stopping: AbortSignal): Promise<void> {
  const change = (ids: readonly WalkedId[]) => {
    const q = { _id: { $in: ids }, ...needed }
    return bulkUpdate(db, { update: ORDERS, updates: [{ q, u: update, multi: true }] })
  }
  return walk(db, { name, collection: ORDERS, first: '', change }, stopping)
}
