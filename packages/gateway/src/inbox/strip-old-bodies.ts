import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import type { Db, ObjectId } from 'mongodb'
import { EVENTS } from './event-document.ts'
import { KEY_ONLY } from './key-only-record.ts'

const AT_ONCE = 500
const SEARCH_MS = 4_000

/**
 * Leaves nothing but the key of records whose retention has ended, where their scheme signs no time: the key must stay. In slices, so
 * that no command outlasts the wait for its answer; what a stop leaves undone is done the next time.
 */
export async function stripOldBodies(db: Db, stopping: AbortSignal): Promise<void> {
  for (let found = AT_ONCE; found === AT_ONCE && !stopping.aborted; ) {
    const due = await db
      .collection(EVENTS)
      .find(IS_DUE, { hint: 'strip', maxTimeMS: SEARCH_MS })
      .project<{ _id: ObjectId }>({ _id: 1 })
      .limit(AT_ONCE)
      .toArray()
    found = due.length
    if (found > 0)
      await strip(
        db,
        due.map(({ _id }) => _id),
      )
  }
}

// An absent date sorts before every other: a record that was replayed meanwhile has none.
const IS_DUE = { stripAt: { $type: 'date' }, $expr: { $lte: ['$stripAt', '$$NOW'] } }

async function strip(db: Db, ids: readonly ObjectId[]): Promise<void> {
  const q = { _id: { $in: ids }, ...IS_DUE }
  await bulkUpdate(db, { update: EVENTS, updates: [{ q, u: [{ $replaceWith: KEY_ONLY }], multi: true }] })
}
