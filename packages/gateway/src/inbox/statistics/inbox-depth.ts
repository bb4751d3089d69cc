import type { Db, Document } from 'mongodb'
import { AGAIN_INDEX, DUE_INDEX, EVENTS, type EventState, FULFILMENT, PENDING_INDEX } from '../event-document.ts'
import { msSince, timeOf } from '../record-expressions.ts'

/** The contents of the inbox at this moment. A field is null if the database did not answer in time. */
export interface InboxDepth {
  readonly pending: number | null
  readonly processing: number | null
  readonly dead: number | null
  readonly closed: number | null
  /**
   * Provider -> seconds that its oldest unsettled event has waited, by the database's clock: since its receipt, or since a
   * replay or a redelivery made it due again.
   */
  readonly oldest: ReadonlyMap<string, number> | null
}

/** The handlers whose tasks are sent: fulfilment and the configured ones, except for those that are paused. */
export type SentHandlers = readonly string[]

/**
 * Counts pending, processing, dead and closed events, and reads the ages of the oldest unsettled events. Tasks that are
 * not sent, because their handler is not one of `sent`, wait on purpose and have no age here. Never throws.
 */
export async function readInboxDepth(db: Db, sent: SentHandlers = [FULFILMENT]): Promise<InboxDepth> {
  const [pending, processing, dead, closed, oldest] = await Promise.all([
    orNull(countState(db, 'pending')),
    orNull(countState(db, 'processing')),
    orNull(countState(db, 'dead')),
    orNull(countState(db, 'closed')),
    orNull(readOldest(db, sent)),
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
  pending: DUE_INDEX,
  processing: DUE_INDEX,
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

async function readOldest(db: Db, sent: SentHandlers): Promise<Map<string, number>> {
  const [first, again, processing] = await Promise.all([
    ofProviders(db, FIRST_PENDING, PENDING_INDEX),
    ofProviders(db, OLDEST_AGAIN, AGAIN_INDEX),
    ofProviders(db, oldestProcessing(sent), DUE_INDEX),
  ])
  // Old records that were made due again come first, before those that have waited longer.
  const behind = first
    .filter(({ isAgain }) => isAgain)
    .map(({ _id }) => ofProviders(db, pendingSinceReceipt(_id), PENDING_INDEX))
  const waiting = [...first.filter(({ isAgain }) => !isAgain), ...again, ...(await Promise.all(behind)).flat()]
  const isSent = ({ handler }: Waiting): boolean => sent.includes(handler)
  const unsent = waiting.filter((one) => !isSent(one)).map(({ _id }) => _id)
  // Only if tasks that wait on purpose hide the others.
  const hidden = unsent.length === 0 ? [] : await ofProviders(db, oldestOf(unsent, sent), DUE_INDEX)
  const oldest = new Map<string, number>()
  for (const { _id, seconds } of [...waiting.filter(isSent), ...processing, ...hidden]) {
    oldest.set(_id, Math.max(seconds, oldest.get(_id) ?? 0))
  }
  return oldest
}

const IN_ORDER = { $sort: { state: 1, provider: 1, _id: 1 } }
const FIRST = {
  $group: {
    ...{ _id: '$provider', handler: { $first: '$handler' } },
    ...{ since: { $first: '$receivedAt' }, dueAgainAt: { $first: '$dueAgainAt' } },
  },
}
// In the order of the index, so that the first record of each provider is found without reading the others.
const FIRST_PENDING: readonly Document[] = [{ $match: { state: 'pending' } }, IN_ORDER, FIRST]
const OLDEST_AGAIN: readonly Document[] = [
  { $match: { state: 'pending', dueAgainAt: { $type: 'date' } } },
  { $sort: { state: 1, provider: 1, dueAgainAt: 1 } },
  { $group: { _id: '$provider', handler: { $first: '$handler' }, since: { $first: '$dueAgainAt' } } },
]
const OLDEST_OF_ALL = {
  $group: { _id: '$provider', since: { $min: { $max: [timeOf('receivedAt'), timeOf('dueAgainAt')] } } },
}
const AGE = {
  $project: {
    handler: 1,
    seconds: { $divide: [msSince('since'), 1_000] },
    isAgain: { $eq: [{ $type: '$dueAgainAt' }, 'date'] },
  },
}

/** The number of these is limited by what the processes hold. */
function oldestProcessing(sent: SentHandlers): readonly Document[] {
  return [{ $match: { state: 'processing', handler: { $in: [...sent] } } }, OLDEST_OF_ALL]
}

/** The pending records of some providers that are sent. */
function oldestOf(providers: readonly string[], sent: SentHandlers): readonly Document[] {
  const $match = { state: 'pending', handler: { $in: [...sent] }, provider: { $in: [...new Set(providers)] } }
  return [{ $match }, OLDEST_OF_ALL]
}

function pendingSinceReceipt(provider: string): readonly Document[] {
  return [
    { $match: { state: 'pending', provider, dueAgainAt: { $not: { $type: 'date' } } } },
    IN_ORDER,
    { $limit: 1 },
    FIRST,
  ]
}

interface Waiting {
  /** The provider. */
  readonly _id: string
  readonly seconds: number
  /** The handler of its oldest task. */
  readonly handler: string
  /** Whether a record was found that was made due again, so that its age does not count from its receipt. */
  readonly isAgain: boolean
}

function ofProviders(db: Db, oldest: readonly Document[], hint: string): Promise<Waiting[]> {
  const pipeline = [...oldest, AGE]
  return db.collection(EVENTS).aggregate<Waiting>(pipeline, { maxTimeMS: COUNT_MS, hint }).toArray()
}
