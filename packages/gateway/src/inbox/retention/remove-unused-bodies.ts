import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import { MAJORITY } from '@oncehook/kernel/mongo/majority'
import { EVENTS } from '@oncehook/queue/task'
import type { Db } from 'mongodb'
import { BODIES, type BodyDocument, CHECK_AGAIN_MS } from '../bodies.ts'
import { BODY_INDEX } from '../event-document.ts'

/** Bodies that are checked together, and the date that claims them. */
interface Slice {
  readonly ids: readonly string[]
  readonly checkAt: Date
}

const SLICE = 100
const SEARCH_MS = 4_000
const DUE = { checkAt: { $type: 'date' }, $expr: { $lte: ['$checkAt', '$$NOW'] } }

/**
 * Removes bodies that no record refers to any more. A majority write claims the check before the records are searched,
 * and the removal requires the date of that claim. A delivery of the same body moves the date before it inserts its
 * records, so a body that it relies on is never removed. Several processes may do this at the same time.
 */
export async function removeUnusedBodies(db: Db, stopping: AbortSignal): Promise<void> {
  while (!stopping.aborted) {
    const slice = await claimSlice(db)
    if (slice === null) return
    const { checkAt } = slice
    const used = await findUsed(db, slice)
    const unused = slice.ids.filter((id) => !used.has(id))
    if (unused.length === 0) continue
    const bodies = db.collection<BodyDocument>(BODIES)
    await bodies.deleteMany({ _id: { $in: unused }, checkAt }, { writeConcern: MAJORITY })
  }
}

/** Postpones the next check of the bodies that are due. Bodies that another process has claimed have another date. */
async function claimSlice(db: Db): Promise<Slice | null> {
  const found = await db
    .collection<BodyDocument>(BODIES)
    .aggregate<{ _id: string; next: Date }>(
      [
        { $match: DUE },
        { $sort: { checkAt: 1 } },
        { $limit: SLICE },
        { $project: { next: { $add: ['$$NOW', CHECK_AGAIN_MS] } } },
      ],
      { maxTimeMS: SEARCH_MS },
    )
    .toArray()
  const [first] = found
  if (first === undefined) return null
  const ids = found.map(({ _id }) => _id)
  const u = { $set: { checkAt: first.next } }
  await bulkUpdate(db, { update: BODIES, updates: [{ q: { _id: { $in: ids }, ...DUE }, u, multi: true }] })
  return { ids, checkAt: first.next }
}

async function findUsed(db: Db, { ids }: Slice): Promise<ReadonlySet<string>> {
  const stages = [{ $match: { bodyId: { $in: ids } } }, { $group: { _id: '$bodyId' } }]
  // Without the index this would read all records. Instead it fails, and is tried again later.
  const options = { hint: BODY_INDEX, maxTimeMS: SEARCH_MS }
  const used = await db.collection(EVENTS).aggregate<{ _id: string }>(stages, options).toArray()
  return new Set(used.map(({ _id }) => _id))
}
