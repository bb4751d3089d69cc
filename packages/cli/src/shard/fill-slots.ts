import { slotOf } from '@oncehook/gateway/inbox/slots/slot'
import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import type { Db, Document, ObjectId } from 'mongodb'
import { COLLECTIONS } from './cluster.ts'

/** How far the walk through the old records has come. */
interface Progress {
  readonly _id: 'slots'
  /** The id of the last record examined. */
  readonly after?: ObjectId
  readonly complete: boolean
}

const PROGRESS = 'sharding'
const AT_ONCE = 1_000
const REPORT_EVERY = 100_000

/** Whether the walk has ended, so that every record has a slot. */
export async function isFilled(db: Db): Promise<boolean> {
  return (await readProgress(db))?.complete === true
}

/**
 * Gives a slot to every record that has none, in the order of their ids, in slices. The progress is stored with each
 * slice: after an interruption, the walk continues. New records must have slots already. `report` gets the number of
 * records examined in this run, now and then.
 */
export async function fillSlots(db: Db, report: (examined: number) => void): Promise<void> {
  const events = db.collection<{ _id: ObjectId; provider: string; eventId: string; slot?: number }>(COLLECTIONS.events)
  let after = (await readProgress(db))?.after
  for (let examined = 0; ; ) {
    const slice = await events
      .find(isAfter(after), { hint: { _id: 1 }, sort: { _id: 1 }, limit: AT_ONCE })
      .project<{ _id: ObjectId; provider: string; eventId: string; slot?: unknown }>({
        provider: 1,
        eventId: 1,
        slot: 1,
      })
      .toArray()
    const updates = slice
      .filter(({ slot }) => typeof slot !== 'number')
      .map(({ _id, provider, eventId }) => {
        const q = { _id, slot: { $not: { $type: 'number' } } }
        return { q, u: { $set: { slot: slotOf({ provider, eventId }) } } }
      })
    await bulkUpdate(db, { update: COLLECTIONS.events, updates })
    after = slice.at(-1)?._id ?? after
    examined += slice.length
    const complete = slice.length < AT_ONCE
    await writeProgress(db, { ...(after === undefined ? {} : { after }), complete })
    if (complete || examined % REPORT_EVERY === 0) report(examined)
    if (complete) return
  }
}

// Ids may have different types, as those of imported records: only an expression compares them all.
function isAfter(id: ObjectId | undefined): Document {
  const filter = id === undefined ? {} : { $expr: { $gt: ['$_id', { $literal: id }] } }
  return filter
}

/** Lets the next walk begin with the first record. */
export async function forgetWalk(db: Db): Promise<void> {
  await db.collection<Progress>(PROGRESS).deleteOne({ _id: 'slots' })
}

function readProgress(db: Db): Promise<Progress | null> {
  return db.collection<Progress>(PROGRESS).findOne({ _id: 'slots' })
}

async function writeProgress(db: Db, progress: Omit<Progress, '_id'>): Promise<void> {
  await bulkUpdate(db, { update: PROGRESS, updates: [{ q: { _id: 'slots' }, u: { $set: progress }, upsert: true }] })
}
