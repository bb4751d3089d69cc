import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import type { Db, ObjectId } from 'mongodb'
import { EVENTS } from '../event-document.ts'
import { release } from '../transitions.ts'

/**
 * Releases an event from the process that holds it. The event is due at once, and later writes of that process change nothing.
 * Resolves to whether it was being processed; if not, nothing is changed.
 */
export async function releaseEvent(db: Db, _id: ObjectId): Promise<boolean> {
  const updates = [{ q: { _id, state: 'processing' }, u: release() }]
  return (await bulkUpdate(db, { update: EVENTS, updates })) === 1
}
