import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import type { Db, ObjectId } from 'mongodb'
import { retention } from './claims.ts'
import { EVENTS } from './event-document.ts'

/** Who closes an event and why. `retentionMs` is how long its record is kept from then on. */
export interface Closing {
  readonly by: string
  readonly reason: string
  readonly retentionMs: number
}

/**
 * Closes a dead event: no delivery revives it, and only a replay that names it makes it due again. Resolves to whether it
 * was dead; if not, nothing is changed.
 */
export async function closeEvent(db: Db, _id: ObjectId, { by, reason, retentionMs }: Closing): Promise<boolean> {
  const closed = { $mergeObjects: [{ at: '$$NOW' }, { $literal: { by, reason } }] }
  const u = [{ $set: { state: 'closed', closed, ...retention({ retentionMs }) } }]
  return (await bulkUpdate(db, { update: EVENTS, updates: [{ q: { _id, state: 'dead' }, u }] })) === 1
}
