import type { Db } from 'mongodb'
import type { InboxDepth } from '../metrics.ts'
import { EVENTS } from './event-document.ts'

/** Counts what is not settled and what is dead, and tells the age of the oldest unsettled event by the database's clock. */
export async function readInboxDepth(db: Db): Promise<InboxDepth> {
  const events = db.collection(EVENTS)
  const [pending, processing, dead] = await Promise.all(
    ['pending', 'processing', 'dead'].map((state) => events.countDocuments({ state }, { maxTimeMS: 2_000 })),
  )
  const ages = await Promise.all(['pending', 'processing'].map((state) => oldestAge(db, state)))
  return { unsettled: (pending ?? 0) + (processing ?? 0), dead: dead ?? 0, oldestUnsettledSeconds: Math.max(...ages) }
}

async function oldestAge(db: Db, state: string): Promise<number> {
  const [oldest] = await db
    .collection(EVENTS)
    .aggregate<{ seconds: number }>(
      [
        { $match: { state } },
        { $group: { _id: null, receivedAt: { $min: '$receivedAt' } } },
        { $project: { seconds: { $divide: [{ $subtract: ['$$NOW', '$receivedAt'] }, 1000] } } },
      ],
      { maxTimeMS: 2_000 },
    )
    .toArray()
  return Math.max(0, oldest?.seconds ?? 0)
}
