import { MAJORITY } from '@oncehook/kernel/mongo/majority'
import type { Db } from 'mongodb'
import { BODIES, type BodyDocument, CHECK_AGAIN_MS } from './bodies.ts'
import { BODY_INDEX, EVENTS } from './event-document.ts'

/**
 * Removes bodies that no record refers to any more. A check is claimed by a majority write before the records are looked
 * for, and the removal names the date of that claim: a delivery of the same body puts the date off before it inserts its
 * records, so a body that it counts on is never removed. Several processes may do this at once.
 */
export async function removeUnusedBodies(db: Db, stopping: AbortSignal): Promise<void> {
  const bodies = db.collection<BodyDocument>(BODIES)
  while (!stopping.aborted) {
    const claimed = await claimCheck(db)
    if (claimed === null) return
    const { _id, checkAt } = claimed
    if (await isUsed(db, _id)) continue
    await bodies.deleteOne({ _id, checkAt }, { writeConcern: MAJORITY })
  }
}

function claimCheck(db: Db): Promise<Pick<BodyDocument, '_id' | 'checkAt'> | null> {
  return db
    .collection<BodyDocument>(BODIES)
    .findOneAndUpdate(
      { checkAt: { $type: 'date' }, $expr: { $lte: ['$checkAt', '$$NOW'] } },
      [{ $set: { checkAt: { $add: ['$$NOW', CHECK_AGAIN_MS] } } }],
      { sort: { checkAt: 1 }, projection: { checkAt: 1 }, returnDocument: 'after', writeConcern: MAJORITY },
    )
}

async function isUsed(db: Db, bodyId: string): Promise<boolean> {
  // Without the index this would read all records: then it fails, and is tried again later.
  const found = await db.collection(EVENTS).findOne({ bodyId }, { projection: { _id: 1 }, hint: BODY_INDEX })
  return found !== null
}
