import { notFound } from '@oncehook/kernel/http/error-codes'
import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import type { NeededIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { AS_WRITTEN } from '@oncehook/kernel/mongo/majority'
import { EVENTS, type TaskState } from '@oncehook/queue/task'
import { BSON, type Db, type Filter, type ObjectId } from 'mongodb'
import { eventsBusy } from '../../errors.ts'
import { type EventDocument, REPLAYS_INDEX } from '../../inbox/event-document.ts'
import { IS_COMPLETE } from '../../inbox/key-only-record.ts'
import { toObjectId } from '../events/event-filter.ts'
import { type OperatorContext, SEARCH_MS } from '../operator-trpc.ts'

export interface ReplayRequest {
  readonly by: string
  readonly reason: string
  readonly target: { readonly ids: readonly string[] } | { readonly filter: Filter<EventDocument> }
  readonly ratePerSecond: number | null
  readonly includeDone: boolean
  /** Whether a filter also selects closed events. Ids always do. Default: false. */
  readonly includeClosed?: boolean
  /** The name of the handler that gets tasks of the events that it wants. Default: the events themselves are made due again. */
  readonly handler?: string
}

export type ReplayProgress = Awaited<ReturnType<Replays['progress']>>

export type Replays = ReturnType<typeof createReplays>

// Below the socket timeout of 5.5 s. After that the driver would ask again, and the answer would be `unavailable` after
// 11 s.
const COUNT_MS = 4_500

/**
 * The events that a request selects: settled or waiting ones. Done and closed events must be included explicitly.
 * Events of which only the key is left are never selected.
 */
function replayable({
  target,
  includeDone,
  includeClosed = false,
  handler,
}: Pick<ReplayRequest, 'target' | 'includeDone' | 'includeClosed' | 'handler'>): Filter<EventDocument> {
  const states: TaskState[] = ['dead', 'unhandled', 'pending']
  if (includeDone) states.push('done')
  if (includeClosed || 'ids' in target) states.push('closed')
  // An event does not change if another handler gets a task of it.
  if (handler !== undefined) states.push('processing')
  const meant = 'ids' in target ? { _id: { $in: toIds(target.ids) } } : target.filter
  return { $and: [meant, { state: { $in: states } }, IS_COMPLETE] }
}

/** Opens the replays of a database. `onStarted` is called when a replay has been stored. */
export function createReplays(db: Db, onStarted: () => void = () => undefined) {
  const events = db.collection<EventDocument>(EVENTS)
  const replays = db.collection<ReplayDocument>(REPLAYS)
  const progress = async (id: string) => {
    const _id = toObjectId(id)
    const found = _id === null ? null : await replays.findOne({ _id })
    if (found === null) throw notFound({}, { message: 'No replay has this id' })
    return toProgress(found, await countStates(db, found._id, COUNT_MS))
  }
  return {
    /**
     * Counts the events that a request selects. It changes nothing.
     * @throws notFound for an unknown id, eventsBusy for one that is being processed
     */
    async match(request: ReplayRequest): Promise<number> {
      if ('ids' in request.target) await refuseUnknownOrBusy(db, request.target.ids)
      return events.countDocuments(replayable(request), { maxTimeMS: COUNT_MS, ...AS_WRITTEN })
    },
    /** Starts a replay under a new id. `matched` is the result of `match`. */
    async start(_id: ObjectId, request: ReplayRequest, matched: number): Promise<void> {
      const { by, reason, ratePerSecond, target, handler } = request
      const newest =
        'ids' in target ? null : await events.findOne({}, { sort: { _id: -1 }, projection: { _id: 1 }, ...AS_WRITTEN })
      const filter = BSON.EJSON.stringify(replayable(request))
      const forWhom = handler === undefined ? {} : { handler }
      const entry = { by, reason, filter, ratePerSecond, matched, cursor: null, until: newest?._id ?? null, ...forWhom }
      const clock = { startedAt: '$$NOW', leaseUntil: '$$NOW', finishedAt: null, state: 'running' }
      const u = [{ $replaceWith: { $mergeObjects: ['$$ROOT', { $literal: entry }, clock] } }]
      await bulkUpdate(db, { update: REPLAYS, updates: [{ q: { _id }, u, upsert: true }] })
      onStarted()
    },
    /** @throws notFound */
    progress,
    /**
     * Makes no more events due again. Events that are already due stay due.
     * @throws notFound
     */
    async cancel(id: string) {
      const q = { _id: toObjectId(id), state: 'running' }
      const u = [{ $set: { state: 'cancelled', finishedAt: '$$NOW' } }]
      await bulkUpdate(db, { update: REPLAYS, updates: [{ q, u }] })
      return progress(id)
    },
  }
}

function toIds(ids: readonly string[]): ObjectId[] {
  return ids.map(toObjectId).filter((id) => id !== null)
}

async function refuseUnknownOrBusy(db: Db, ids: readonly string[]): Promise<void> {
  const wanted = new Set(ids)
  const found = await db
    .collection<EventDocument>(EVENTS)
    .find({ _id: { $in: toIds([...wanted]) } }, AS_WRITTEN)
    .project<{ state: TaskState }>({ _id: 0, state: 1 })
    .toArray()
  if (found.length < wanted.size) throw notFound({}, { message: 'Unknown event id' })
  if (found.some(({ state }) => state === 'processing')) throw eventsBusy()
}

const DONE: readonly TaskState[] = ['done', 'unhandled']
const FAILED: readonly TaskState[] = ['dead', 'closed']

/**
 * Counted from the events instead of added up: a process may die between making events due and writing their number. The
 * index contains everything that is counted, so no event is read.
 */
async function countStates(db: Db, id: ObjectId, maxTimeMS: number) {
  const pipeline = [{ $match: { 'replays.id': id } }, { $group: { _id: '$state', count: { $sum: 1 } } }]
  const states = await db
    .collection<EventDocument>(EVENTS)
    .aggregate<{ _id: TaskState; count: number }>(pipeline, { maxTimeMS, hint: REPLAYS_INDEX })
    .toArray()
  const sumOf = (wanted: readonly TaskState[] | null): number =>
    states.reduce((sum, { _id, count }) => (wanted === null || wanted.includes(_id) ? sum + count : sum), 0)
  return { started: sumOf(null), done: sumOf(DONE), failed: sumOf(FAILED) }
}

/**
 * Of the `matched` events, which were selected when the replay was requested, `started` have been made due again, or got a task
 * by a backfill. At the end they may be fewer, if other requests were faster or the handler does not want all. An event that
 * changes its state during the count may be missing. The bodies of `notRead` could not be read with the current settings: the
 * earlier mapping then applies. Times are ISO 8601, UTC.
 */
function toProgress<Counts>(replay: ReplayDocument, counts: Counts) {
  const { state, matched, notRead = 0, by, reason, startedAt, finishedAt } = replay
  return {
    ...{ state, matched, ...counts, notRead, by, reason },
    ...{ startedAt: startedAt.toISOString(), finishedAt: finishedAt?.toISOString() ?? null },
  }
}

/** A replay: a list of events that become due again, at a rate. Any process may run it. */
export interface ReplayDocument {
  readonly _id: ObjectId
  readonly state: 'running' | 'finished' | 'cancelled'
  readonly by: string
  readonly reason: string
  /** The filter as extended JSON, because names that begin with $ cause problems in a stored document. */
  readonly filter: string
  readonly ratePerSecond: number | null
  /** The handler that gets tasks of the events. Absent: the events themselves are made due again. */
  readonly handler?: string
  readonly matched: number
  /** The number of its events that could not be read with the settings of that time. Absent means none. */
  readonly notRead?: number
  /** The newest event that was examined. The next slice begins after it. */
  readonly cursor: ObjectId | null
  /** Newer events arrived after the replay was requested and are not part of it. Null if the request named ids. */
  readonly until: ObjectId | null
  readonly leaseUntil: Date
  readonly startedAt: Date
  readonly finishedAt: Date | null
}

export const REPLAYS = 'replays'

/** The indexes that replays need besides the one that finds the events of each. */
export const REPLAY_INDEXES: readonly NeededIndexes[] = [
  {
    collection: REPLAYS,
    indexes: [{ name: 'running', key: { state: 1, _id: 1 }, partialFilterExpression: { state: 'running' } }],
  },
]

const NOT_COUNTED = { started: null, done: null, failed: null }

/**
 * Lists replays of all operators, newest first. Counts the events of one replay after the other, for at most 5 s in
 * total. The numbers are null for those that the database did not count in time.
 */
export async function listReplays(
  { db, monotonicMs }: Pick<OperatorContext, 'db' | 'monotonicMs'>,
  { limit, after }: { readonly limit: number; readonly after: ObjectId | null },
) {
  const found = await db
    .collection<ReplayDocument>(REPLAYS)
    .find(after === null ? {} : { _id: { $lt: after } }, { maxTimeMS: SEARCH_MS, projection: { filter: 0 } })
    .sort({ _id: -1 })
    .limit(limit)
    .toArray()
  const deadline = monotonicMs() + SEARCH_MS
  const countInTime = (id: ObjectId, leftMs: number) =>
    leftMs < 1 ? NOT_COUNTED : countStates(db, id, Math.ceil(leftMs)).catch(() => NOT_COUNTED)
  const listed = []
  for (const replay of found) {
    const counts = await countInTime(replay._id, deadline - monotonicMs())
    listed.push({ replayId: String(replay._id), ...toProgress(replay, counts) })
  }
  return listed
}
