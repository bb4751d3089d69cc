import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import type { NeededIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { type Db, ObjectId } from 'mongodb'

/** What an operator did: nothing here is ever changed or removed. */
export interface AuditEntry {
  readonly at: Date
  readonly by: string
  readonly action: 'events.replay' | 'replays.cancel' | 'receipts.release'
  readonly reason: string | null
  /** What it was about and how it ended: names and counts only. */
  readonly details: Readonly<Record<string, unknown>>
}

/** The append-only memory of who did what. */
export interface Audit {
  /** Adds an entry; when this resolves, a majority holds it. The time is the database's. */
  record(entry: Omit<AuditEntry, 'at'>): Promise<void>
  /** The newest entries, or those before `after`. */
  list(page: { limit: number; after?: ObjectId | undefined }): Promise<(AuditEntry & { readonly _id: ObjectId })[]>
}

const AUDIT = 'audit'

/** The collection of the audit needs no index but its own: it is read in the order in which it was written. */
export const AUDIT_INDEXES: NeededIndexes = { collection: AUDIT, indexes: [] }

/** Opens the audit of a database. */
export function createAudit(db: Db): Audit {
  const entries = db.collection<AuditEntry & { _id: ObjectId }>(AUDIT)
  return {
    async record(entry) {
      const document = { $literal: entry }
      // An upsert by pipeline, because only there the database's own clock can be written.
      const update = {
        q: { _id: new ObjectId() },
        u: [{ $replaceWith: { $mergeObjects: ['$$ROOT', document, { at: '$$NOW' }] } }],
        upsert: true,
      }
      await bulkUpdate(db, { update: AUDIT, updates: [update] })
    },
    list({ limit, after }) {
      const filter = after === undefined ? {} : { _id: { $lt: after } }
      return entries.find(filter).sort({ _id: -1 }).limit(limit).toArray()
    },
  }
}
