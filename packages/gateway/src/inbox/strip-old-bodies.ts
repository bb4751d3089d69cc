import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import { Binary, type Db, type Document, type ObjectId } from 'mongodb'
import { EVENTS } from './event-document.ts'

const AT_ONCE = 500

/**
 * Empties records whose retention has ended but whose key must stay, because their scheme signs no time. In slices, so
 * that no command outlasts the wait for its answer; what a stop leaves undone is done the next time.
 */
export async function stripOldBodies(db: Db, stopping: AbortSignal): Promise<void> {
  for (let found = AT_ONCE; found === AT_ONCE && !stopping.aborted; ) {
    const due = await db
      .collection(EVENTS)
      .find({ $expr: IS_DUE, stripAt: { $type: 'date' } })
      .project<{ _id: ObjectId }>({ _id: 1 })
      .limit(AT_ONCE)
      .toArray()
    found = due.length
    if (found > 0) await strip(db, { _id: { $in: due.map(({ _id }) => _id) }, $expr: IS_DUE })
  }
}

const IS_DUE = { $lte: ['$stripAt', '$$NOW'] }

async function strip(db: Db, q: Document): Promise<void> {
  const u = [
    { $set: { raw: { $literal: new Binary(Buffer.alloc(0)) }, headers: { $literal: {} } } },
    { $unset: ['stripAt', 'query', 'bodyId'] },
  ]
  await bulkUpdate(db, { update: EVENTS, updates: [{ q, u, multi: true }] })
}
