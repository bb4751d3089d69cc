import { bulkUpdate, sendUpdates } from '@oncehook/kernel/mongo/bulk-update'
import type { Db, Document, ObjectId } from 'mongodb'
import { EVENTS, type EventDocument } from '../../inbox/event-document.ts'
import { IS_COMPLETE } from '../../inbox/key-only-record.ts'
import { keyOnly } from '../../inbox/transitions.ts'
import { AS_WRITTEN } from '../events/as-written.ts'
import type { ReplayDocument } from './replay-document.ts'

/** The update of an event, or the one that inserts a task of it. */
export interface EventUpdate {
  /** The event. */
  readonly id: ObjectId
  readonly statement: { readonly q: Document; readonly u: readonly Document[]; readonly upsert?: true }
}

/** An event whose update the server refused. */
interface Refused {
  readonly id: ObjectId
  readonly code: number
}

/** Writes the updates of a slice. Resolves to those that the server refused. */
export async function writeSlice(
  db: Db,
  { _id, handler }: ReplayDocument,
  updates: readonly EventUpdate[],
): Promise<readonly Refused[]> {
  return handler === undefined ? send(db, updates) : insertTasks(db, _id, updates)
}

/**
 * An operator may erase events while they are in the memory of a backfill. The erasure then stores the keys of their tasks
 * (`keepOutErased`). If it dies before that, this function helps: it inserts no task of an event that was erased before, and
 * empties the tasks of those that were erased meanwhile. A handler may be called with a task before it is emptied. If both
 * processes die in that moment, a task may be left.
 */
async function insertTasks(db: Db, replayId: ObjectId, planned: readonly EventUpdate[]): Promise<readonly Refused[]> {
  const keysBefore = await findKeysAlone(db, planned)
  const tasks = planned.filter(({ id }) => !keysBefore.has(String(id)))
  const refused = await send(db, tasks)
  const keysAfter = await findKeysAlone(db, tasks)
  const copies = tasks.filter(({ id }) => keysAfter.has(String(id)))
  // A task that was stored by somebody else is not a copy of what was erased.
  const ownOf = ({ q }: EventUpdate['statement']): Document => ({ ...q, 'replays.id': replayId, ...IS_COMPLETE })
  const updates = copies.map(({ statement }) => ({ q: ownOf(statement), u: ERASED }))
  await bulkUpdate(db, { update: EVENTS, updates })
  return refused
}

const ERASED = [{ $replaceWith: keyOnly('erased') }]

async function send(db: Db, updates: readonly EventUpdate[]): Promise<readonly Refused[]> {
  if (updates.length === 0) return []
  const { refused } = await sendUpdates(db, { update: EVENTS, updates: updates.map(({ statement }) => statement) })
  return refused.flatMap(({ index, code }) => {
    const update = updates[index]
    return update === undefined ? [] : [{ id: update.id, code }]
  })
}

const READ_MS = 4_000

/** The ids of the events of which only the key is left. */
async function findKeysAlone(db: Db, updates: readonly EventUpdate[]): Promise<ReadonlySet<string>> {
  if (updates.length === 0) return new Set()
  const ids = updates.map(({ id }) => id)
  const found = await db
    .collection<EventDocument>(EVENTS)
    .find({ _id: { $in: ids }, $nor: [IS_COMPLETE] }, { maxTimeMS: READ_MS, ...AS_WRITTEN })
    .project<Pick<EventDocument, '_id'>>({ _id: 1 })
    .toArray()
  return new Set(found.map(({ _id }) => String(_id)))
}
