import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import type { Db, ObjectId } from 'mongodb'
import { EVENTS } from './event-document.ts'
import { type Closing, close } from './transitions.ts'

/**
 * Closes a dead event. No delivery revives it, and only a replay that names it makes it due again. Its key is kept
 * permanently. Otherwise a delivery after the end of the record would count as new. Resolves to whether the event was
 * dead; if not, nothing is changed.
 */
export async function closeEvent(db: Db, _id: ObjectId, closing: Closing): Promise<boolean> {
  const updates = [{ q: { _id, state: 'dead' }, u: close(closing) }]
  return (await bulkUpdate(db, { update: EVENTS, updates })) === 1
}
