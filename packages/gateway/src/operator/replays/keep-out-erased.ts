import { sendUpdates } from '@oncehook/kernel/mongo/bulk-update'
import { fromNow } from '@oncehook/kernel/mongo/database-clock'
import { DUPLICATE_KEY } from '@oncehook/kernel/mongo/write-outcome'
import { type Db, MongoServerError, type ObjectId } from 'mongodb'
import { EVENTS, type EventDocument } from '../../inbox/event-document.ts'
import { IS_COMPLETE } from '../../inbox/key-only-record.ts'
import { nameByKey } from '../../inbox/record-key.ts'
import { insertErased } from '../../inbox/transitions.ts'
import { AS_WRITTEN } from '../events/as-written.ts'
import { REPLAYS, type ReplayDocument } from './replay-document.ts'

// A process may still hold events of a backfill that was cancelled, or that another process has finished.
const HELD_MS = 60_000
const READ = { maxTimeMS: 4_000, ...AS_WRITTEN } as const

/**
 * Keeps the tasks of events that were just erased out. A backfill may have read these events before, and insert their tasks
 * at any time, even from a process that is then killed. So the key of each such task is inserted, for each handler with
 * a backfill: the unique index lets only one of the two in. A backfill that starts later does not find the events.
 */
export async function keepOutErased(db: Db, ids: readonly ObjectId[]): Promise<void> {
  const handlers = await findBackfilled(db)
  if (handlers.length === 0) return
  const erased = await db
    .collection<EventDocument>(EVENTS)
    .find({ _id: { $in: [...ids] }, $nor: [IS_COMPLETE] }, READ)
    .project<Pick<EventDocument, 'provider' | 'eventId' | 'bodyHash' | 'receivedAt'>>({ ...KEY, _id: 0 })
    .toArray()
  const updates = handlers.flatMap((handler) =>
    erased.map(({ provider, eventId, bodyHash, receivedAt }) => ({
      q: nameByKey({ provider, eventId, handler }),
      u: insertErased({ bodyHash, receivedAt }),
      upsert: true,
    })),
  )
  if (updates.length === 0) return
  const { refused } = await sendUpdates(db, { update: EVENTS, updates })
  // A task of that moment, which the caller then finds.
  const failed = refused.find(({ code }) => code !== DUPLICATE_KEY)
  if (failed !== undefined) throw new MongoServerError({ message: 'The key of a task was refused', code: failed.code })
}

const KEY = { provider: 1, eventId: 1, bodyHash: 1, receivedAt: 1 } as const

/** The handlers with a backfill that runs, or ended a moment ago. */
async function findBackfilled(db: Db): Promise<string[]> {
  const isRecent = { $or: [{ $eq: ['$finishedAt', null] }, { $gte: ['$finishedAt', fromNow(-HELD_MS)] }] }
  const found = await db
    .collection<ReplayDocument>(REPLAYS)
    .find({ handler: { $exists: true }, $expr: isRecent }, READ)
    .project<Required<Pick<ReplayDocument, 'handler'>>>({ _id: 0, handler: 1 })
    .toArray()
  return [...new Set(found.map(({ handler }) => handler))]
}
