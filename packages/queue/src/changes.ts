import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import type { Db, Document, Filter, ObjectId } from 'mongodb'
import { SEARCH_MS } from './due.ts'
import { advanceFree } from './order/lines.ts'
import { BY_ID, DUE_INDEX, EVENTS, type NamedTask, STATE_INDEX, type TaskDocument, withIds } from './task.ts'
import { type Closing, close, discard, type EndFields, release } from './transitions.ts'

/*
 * What an operator changes: closes a dead task, takes a task away from the process that holds it, and discards the tasks of a
 * handler that was removed.
 */

/** Resolves to whether the task was dead; if not, nothing is changed. `fields`: when its owner removes it. */
export async function closeTask(db: Db, _id: ObjectId, closing: Closing, fields: Document): Promise<boolean> {
  const updates = [{ q: { _id, state: 'dead' }, u: close(closing, fields) }]
  return (await bulkUpdate(db, { update: EVENTS, updates })) === 1
}

const ADVANCE_MS = 1_000

/** After an operator has closed a task. Another dead one may still block the line. */
export async function advanceLine(
  db: Db,
  { handler, line }: { readonly handler: string; readonly line: string },
): Promise<void> {
  await advanceFree({ db, handler, ordering: { blockOnDead: true } }, [line], ADVANCE_MS)
}

/** Later writes of the process that holds it change nothing. Resolves to whether it was being processed. */
export async function releaseTask(db: Db, _id: ObjectId): Promise<boolean> {
  const updates = [{ q: { _id, state: 'processing' }, u: release() }]
  return (await bulkUpdate(db, { update: EVENTS, updates })) === 1
}

const SLICE = 500
// Below the time that a client waits for an answer.
const WITHIN_MS = 4_000
const HAS_ENDED = { $expr: { $lte: ['$dueAt', '$$NOW'] } } as const

interface Discarded {
  readonly discarded: number
  /** Whether the time ended before the tasks did. Repeat the call. */
  readonly more: boolean
  /** Tasks whose claims have not ended. Repeat the call after that. */
  readonly held: number
}

/**
 * Settles the pending and the dead tasks of a handler that was removed, and those whose claims have ended, in slices and for a
 * limited time. It is safe to repeat. The caller makes sure that no process has the handler.
 */
export async function discardTasks(
  db: Db,
  handler: string,
  end: EndFields,
  monotonicMs = () => performance.now(),
): Promise<Discarded> {
  const endsAt = monotonicMs() + WITHIN_MS
  let discarded = 0
  let more = false
  for (const state of ['pending', 'dead', 'processing'] as const) {
    const left = { state, handler, ...(state === 'processing' ? HAS_ENDED : {}) }
    for (let slice = FIRST_SLICE; slice.isFull && !more; ) {
      slice = await findSlice(db, left, slice)
      const q = { ...withIds(slice.tasks), ...left }
      discarded += await bulkUpdate(db, { update: EVENTS, updates: [{ q, u: discard(end), multi: true, hint: BY_ID }] })
      more = slice.isFull && monotonicMs() > endsAt
    }
  }
  const filter = { state: 'processing', handler }
  const held = await db.collection(EVENTS).countDocuments(filter, { hint: DUE_INDEX, maxTimeMS: SEARCH_MS })
  return { discarded, more, held }
}

interface Slice {
  readonly tasks: readonly NamedTask[]
  readonly isFull: boolean
}

const FIRST_SLICE: Slice = { tasks: [], isFull: true }

/**
 * The next tasks of the handler. Those that were discarded have left the index of work. Dead ones are looked for among those
 * of all handlers, each of which is looked at once.
 */
async function findSlice(db: Db, left: Filter<TaskDocument>, before: Slice): Promise<Slice> {
  const last = before.tasks.at(-1)?._id
  const isDead = left.state === 'dead'
  const filter = { ...left, ...(isDead && last !== undefined ? { _id: { $gt: last } } : {}) }
  const tasks = await db
    .collection<TaskDocument>(EVENTS)
    .find(filter, { hint: isDead ? STATE_INDEX : DUE_INDEX, maxTimeMS: SEARCH_MS })
    .project<NamedTask>({ _id: 1 })
    .limit(SLICE)
    .toArray()
  return { tasks, isFull: tasks.length === SLICE }
}
