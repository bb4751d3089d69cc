import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import type { Db, ObjectId } from 'mongodb'
import { EVENTS } from './event-document.ts'
import { bodyMsOf, type Retention } from './retention/retention.ts'

/** Who closes an event and why, and how long it is kept from then on. */
export interface Closing {
  readonly by: string
  readonly reason: string
  readonly retention: Retention
}

/**
 * Closes a dead event. No delivery revives it, and only a replay that names it makes it due again. Its key is kept
 * permanently. Otherwise a delivery after the end of the record would count as new. Resolves to whether the event was
 * dead; if not, nothing is changed.
 */
export async function closeEvent(db: Db, _id: ObjectId, { by, reason, retention }: Closing): Promise<boolean> {
  const closed = { $mergeObjects: [{ at: '$$NOW' }, { $literal: { by, reason } }] }
  const stripAt = { $add: ['$$NOW', bodyMsOf(retention)] }
  const u = [{ $set: { state: 'closed', closed, stripAt } }]
  return (await bulkUpdate(db, { update: EVENTS, updates: [{ q: { _id, state: 'dead' }, u }] })) === 1
}
