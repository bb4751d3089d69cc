import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import { Binary, type Db, type Filter, type ObjectId } from 'mongodb'
import { EVENTS, type EventDocument } from '../event-document.ts'
import { timeOf } from '../record-expressions.ts'
import type { Retention } from './retention.ts'

const AT_ONCE = 500
const SEARCH_MS = 4_000

/**
 * Sets the date from which the bodies of dead events are removed, for events of release 0.1.0, which set none. Walks
 * the index of dead events in slices.
 */
export async function dateDeadBodies(db: Db, retention: Retention, stopping: AbortSignal): Promise<void> {
  const events = db.collection<EventDocument>(EVENTS)
  for (let last: ObjectId | null = null; !stopping.aborted; ) {
    const slice: Pick<EventDocument, '_id'>[] = await events
      .find(last === null ? IS_DEAD : { ...IS_DEAD, _id: { $gt: last } }, { hint: 'dead', maxTimeMS: SEARCH_MS })
      .project<Pick<EventDocument, '_id'>>({ _id: 1 })
      .sort({ state: 1, _id: 1 })
      .limit(AT_ONCE)
      .toArray()
    const q = { _id: { $in: slice.map(({ _id }) => _id) }, ...IS_DEAD, ...HAS_UNDATED_BODY }
    if (slice.length > 0) await bulkUpdate(db, { update: EVENTS, updates: [{ q, u: [date(retention)], multi: true }] })
    if (slice.length < AT_ONCE) return
    last = slice.at(-1)?._id ?? null
  }
}

const IS_DEAD = { state: 'dead' } satisfies Filter<EventDocument>

const HAS_UNDATED_BODY = {
  stripAt: { $exists: false },
  $or: [{ raw: { $ne: new Binary(Buffer.alloc(0)) } }, { bodyId: { $exists: true } }, { sealed: { $exists: true } }],
}

/** Counts from the time of death, or from now if that is unknown. */
function date(retention: Retention): object {
  const died = { $ifNull: [timeOf('settledAt'), '$$NOW'] }
  return { $set: { stripAt: { $add: [died, retention.bodyRetentionMs] } } }
}
