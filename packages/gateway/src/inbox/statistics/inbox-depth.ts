import { msSince, timeOf } from '@oncehook/queue/expressions'
import { DUE_INDEX, EVENTS, STATE_INDEX, type TaskState } from '@oncehook/queue/task'
import type { Db, Document } from 'mongodb'
import { FULFILMENT } from '../event-document.ts'

/** The contents of the inbox at this moment. A field is null if the database did not answer in time. */
export interface InboxDepth {
  readonly pending: number | null
  readonly processing: number | null
  readonly dead: number | null
  readonly closed: number | null
  /**
   * Provider -> seconds that its oldest unsettled event has waited, by the database's clock: since it was stored, or since a
   * replay or a redelivery made it due again.
   */
  readonly oldest: ReadonlyMap<string, number> | null
}

/** The handlers whose tasks are sent: fulfilment and the configured ones, except for those that are paused. */
export type SentHandlers = readonly string[]

/**
 * Counts pending, processing, dead and closed events, and reads the ages of the oldest unsettled events. Tasks that are
 * not sent, because their handler is not one of `sent` or their provider is `paused`, wait on purpose and have no age here. Never
 * throws.
 */
export async function readInboxDepth(
  db: Db,
  sent: SentHandlers = [FULFILMENT],
  paused: Iterable<string> = [],
): Promise<InboxDepth> {
  const [pending, processing, dead, closed, oldest] = await Promise.all([
    orNull(countState(db, 'pending')),
    orNull(countState(db, 'processing')),
    orNull(countState(db, 'dead')),
    orNull(countState(db, 'closed')),
    orNull(readOldest(db, sent, [...paused])),
  ])
  return { pending, processing, dead, closed, oldest }
}

/** In seconds: 0 if there is none, null if it is unknown. Events of paused providers wait on purpose. */
export function oldestUnsettledSeconds(
  { oldest }: Pick<InboxDepth, 'oldest'>,
  paused: { has(provider: string): boolean },
): number | null {
  if (oldest === null) return null
  const ages = [...oldest].filter(([provider]) => !paused.has(provider)).map(([, seconds]) => seconds)
  return Math.max(0, ...ages)
}

const COUNT_MS = 3_000
/** The number of events in a state. Without its index, the server refuses to count instead of reading every record. */
export function countState(db: Db, state: Exclude<TaskState, 'done'>): Promise<number> {
  const hint = state === 'processing' ? DUE_INDEX : STATE_INDEX
  return db.collection(EVENTS).countDocuments({ state }, { maxTimeMS: COUNT_MS, hint })
}

async function orNull<T>(read: Promise<T>): Promise<T | null> {
  return read.catch(() => null)
}

/**
 * Reads the keys of the pending ones that were stored first, and the records that the processes hold, which are few. In a backlog, a
 * provider that has none among those has no age, and what was made due again counts as younger than it may be.
 */
async function readOldest(db: Db, sent: SentHandlers, paused: readonly string[]): Promise<Map<string, number>> {
  const match = { handler: { $in: [...sent] }, provider: { $nin: paused } }
  const parts = await Promise.all([oldestOf(db, 'pending', match), oldestOf(db, 'processing', match)])
  const oldest = new Map<string, number>()
  for (const { _id, seconds } of parts.flat()) oldest.set(_id, Math.max(seconds, oldest.get(_id) ?? 0))
  return oldest
}

type Open = 'pending' | 'processing'

interface Oldest {
  readonly _id: string
  readonly seconds: number
}

// The id of a record has the time at which it was stored, in seconds. An imported record may have another id.
const STORED_AT: Document = { $cond: [{ $eq: [{ $type: '$_id' }, 'objectId'] }, { $toDate: '$_id' }, null] }
const AGE: Document = { $project: { seconds: { $divide: [msSince('since'), 1_000] } } }

// Enough that every provider is among them as long as events are sent, few enough that a long backlog costs no more.
const MOST_READ = 10_000

function oldestOf(db: Db, state: Open, match: Document): Promise<Oldest[]> {
  const since = { $min: { $max: [STORED_AT, timeOf('again.at')] } }
  const first = state === 'pending' ? [{ $sort: { state: 1, _id: 1 } }, { $limit: MOST_READ }] : []
  const pipeline = [{ $match: { state, ...match } }, ...first, { $group: { _id: '$provider', since } }, AGE]
  const options = { maxTimeMS: COUNT_MS, hint: state === 'pending' ? STATE_INDEX : DUE_INDEX }
  return db.collection(EVENTS).aggregate<Oldest>(pipeline, options).toArray()
}
