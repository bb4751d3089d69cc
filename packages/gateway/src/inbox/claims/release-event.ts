import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import type { Db, ObjectId } from 'mongodb'
import { EVENTS } from '../event-document.ts'
import { raised } from '../record-expressions.ts'
import { HOLD } from './claims.ts'

/**
 * Takes an event from the process that holds it. The event is due at once, and the raised fence drops later writes of
 * that process. Resolves to whether it was being processed; if not, nothing is changed.
 */
export async function releaseEvent(db: Db, _id: ObjectId): Promise<boolean> {
  const u = [{ $set: { state: 'pending', fence: raised('fence'), dueAt: '$$NOW' } }, { $unset: [...HOLD] }]
  return (await bulkUpdate(db, { update: EVENTS, updates: [{ q: { _id, state: 'processing' }, u }] })) === 1
}
