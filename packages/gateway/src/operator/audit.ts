import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import type { NeededIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { type Db, ObjectId } from 'mongodb'

/** What an operator or a provider's delivery changed: nothing here is ever changed or removed. */
export interface AuditEntry {
  readonly at: Date
  /** The name of an operator, or `provider:<name>`. */
  readonly by: string
  readonly action:
    | 'events.close'
    | 'events.release'
    | 'events.replay'
    | 'events.revive'
    | 'replays.cancel'
    | 'receipts.release'
  readonly reason: string | null
  /** What it was about and how it ended: names and counts only. */
  readonly details: Readonly<Record<string, unknown>>
}

/** An entry to be added. An `id` makes adding it again harmless, where it is not known whether it was stored. */
export type NewAuditEntry = Omit<AuditEntry, 'at'> & { readonly id?: ObjectId }

/** The append-only memory of who did what. */
export interface Audit {
  /** Adds an entry; when this resolves, a majority holds it. The time is the database's. */
  record(entry: NewAuditEntry): Promise<void>
  /** The same for several entries in one command: all of them, or it throws. */
  recordAll(entries: readonly NewAuditEntry[]): Promise<void>
  /** The newest entries, or those before `after`. */
  list(page: { limit: number; after?: ObjectId | undefined }): Promise<(AuditEntry & { readonly _id: ObjectId })[]>
}

const AUDIT = 'audit'

/** The collection of the audit needs no index but its own: it is read in the order in which it was written. */
export const AUDIT_INDEXES: NeededIndexes = { collection: AUDIT, indexes: [] }

/** Opens the audit of a database. */
export function createAudit(db: Db): Audit {
  const entries = db.collection<AuditEntry & { _id: ObjectId }>(AUDIT)
  const recordAll = async (added: readonly NewAuditEntry[]): Promise<void> => {
    await bulkUpdate(db, { update: AUDIT, updates: added.map(toStatement) })
  }
  return {
    record: (entry) => recordAll([entry]),
    recordAll,
    list({ limit, after }) {
      const filter = after === undefined ? {} : { _id: { $lt: after } }
      return entries.find(filter).sort({ _id: -1 }).limit(limit).toArray()
    },
  }
}

/** An upsert by pipeline, because only there the database's own clock can be written. */
function toStatement({ id = new ObjectId(), ...entry }: NewAuditEntry): object {
  const document = { $mergeObjects: ['$$ROOT', { $literal: entry }, { at: '$$NOW' }] }
  return { q: { _id: id }, u: [{ $replaceWith: document }], upsert: true }
}
