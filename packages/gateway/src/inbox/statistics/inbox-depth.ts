import type { Db, Document } from 'mongodb'
import { EVENTS, type EventState } from '../event-document.ts'
import { msSince, timeOf } from '../record-expressions.ts'

/** The contents of the inbox at this moment. A field is null if the database did not answer in time. */
export interface InboxDepth {
  readonly pending: number | null
  readonly processing: number | null
  readonly dead: number | null
  readonly closed: number | null
  /** Provider -> seconds since its oldest unsettled event was received, by the database's clock. */
  readonly oldest: ReadonlyMap<string, number> | null
}

/**
 * Counts pending, processing, dead and closed events, and reads the ages of the oldest unsettled events. Never throws.
 */
export async function readInboxDepth(db: Db): Promise<InboxDepth> {
  const [pending, processing, dead, closed, oldest] = await Promise.all([
    orNull(countState(db, 'pending')),
    orNull(countState(db, 'processing')),
    orNull(countState(db, 'dead')),
    orNull(countState(db, 'closed')),
    orNull(readOldest(db)),
  ])
  return { pending, processing, dead, closed, oldest }
}

/**
 * The age of the oldest unsettled event in seconds: 0 if there is none, null if it is unknown. Events of paused
 * providers wait on purpose, so they do not count.
 */
export function oldestUnsettledSeconds(
  { oldest }: Pick<InboxDepth, 'oldest'>,
  paused: { has(provider: string): boolean },
): number | null {
  if (oldest === null) return null
  const ages = [...oldest].filter(([provider]) => !paused.has(provider)).map(([, seconds]) => seconds)
  return Math.max(0, ...ages)
}

const COUNT_MS = 3_000
// Without its index, a count would read every record.
const INDEX_OF = {
  pending: 'pending_due',
  processing: 'processing',
  dead: 'dead',
  unhandled: 'unhandled',
  closed: 'closed',
} as const

/** The number of events in a state that has an index. */
export function countState(db: Db, state: Exclude<EventState, 'done'>): Promise<number> {
  return db.collection(EVENTS).countDocuments({ state }, { maxTimeMS: COUNT_MS, hint: INDEX_OF[state] })
}

async function orNull<T>(read: Promise<T>): Promise<T | null> {
  return read.catch(() => null)
}

async function readOldest(db: Db): Promise<Map<string, number>> {
  const groups = await Promise.all([
    ofProviders(db, OLDEST_PENDING, 'pending_oldest'),
    ofProviders(db, OLDEST_PROCESSING, 'processing'),
  ])
  const oldest = new Map<string, number>()
  for (const { _id, seconds } of groups.flat()) oldest.set(_id, Math.max(seconds, oldest.get(_id) ?? 0))
  return oldest
}

// In the order of the index, so that the first record of each provider is found without reading the others.
const OLDEST_PENDING: readonly Document[] = [
  { $match: { state: 'pending' } },
  { $sort: { state: 1, provider: 1, _id: 1 } },
  { $group: { _id: '$provider', receivedAt: { $first: '$receivedAt' } } },
]
// The number of these is limited by what the processes hold.
const OLDEST_PROCESSING: readonly Document[] = [
  { $match: { state: 'processing' } },
  { $group: { _id: '$provider', receivedAt: { $min: timeOf('receivedAt') } } },
]
const AGE = { $project: { seconds: { $divide: [msSince('receivedAt'), 1_000] } } }

function ofProviders(db: Db, oldest: readonly Document[], hint: string): Promise<{ _id: string; seconds: number }[]> {
  const pipeline = [...oldest, AGE]
  return db
    .collection(EVENTS)
    .aggregate<{ _id: string; seconds: number }>(pipeline, { maxTimeMS: COUNT_MS, hint })
    .toArray()
}
