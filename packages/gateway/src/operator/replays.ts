import { notFound } from '@oncehook/kernel/error-codes'
import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import { BSON, type Db, type Filter, type ObjectId } from 'mongodb'
import { eventsBusy } from '../errors.ts'
import { EVENTS, type EventDocument, type EventState, REPLAYS_INDEX } from '../inbox/event-document.ts'
import { IS_COMPLETE } from '../inbox/key-only-record.ts'
import { AS_WRITTEN } from './as-written.ts'
import { toObjectId } from './event-filter.ts'
import { REPLAYS, type ReplayDocument } from './replay-document.ts'

/** What is to be replayed, by whom and why. */
export interface ReplayRequest {
  readonly by: string
  readonly reason: string
  readonly target: { readonly ids: readonly string[] } | { readonly filter: Filter<EventDocument> }
  readonly ratePerSecond: number | null
  readonly includeDone: boolean
  /** Whether a filter also means closed events. Ids do in any case. Default: false. */
  readonly includeClosed?: boolean
}

/** How a replay stands. Times are ISO 8601, UTC. */
export interface ReplayProgress {
  readonly state: ReplayDocument['state']
  /** What the request meant when it was made. */
  readonly matched: number
  /** Events made due again so far; fewer than matched in the end where others were faster. */
  readonly started: number
  /** Those of them that are settled now, and those that are dead or closed now. */
  readonly done: number
  readonly failed: number
  /** Events whose body could not be read by today's settings: what was read before counts. */
  readonly notRead: number
  readonly by: string
  readonly reason: string
  readonly startedAt: string
  readonly finishedAt: string | null
}

/** Asking for replays and watching them. */
export interface Replays {
  /**
   * Counts what a request means, changing nothing.
   * @throws notFound for an unknown id, eventsBusy for one that is being processed
   */
  match(request: ReplayRequest): Promise<number>
  /** Starts a replay under a new id; what it means has been counted by `match`. */
  start(_id: ObjectId, request: ReplayRequest, matched: number): Promise<void>
  /** @throws notFound */
  progress(id: string): Promise<ReplayProgress>
  /** Hands on no more events; those that are due again stay so. @throws notFound */
  cancel(id: string): Promise<ReplayProgress>
}

// Below the 5.5 s of a socket: beyond that the driver would ask again, and the answer would be `unavailable` after 11 s.
const COUNT_MS = 4_500

/**
 * Which events a request means: those that are settled or waiting; done and closed ones only when it says so, and none of
 * which only the key is left.
 */
function replayable({
  target,
  includeDone,
  includeClosed = false,
}: Pick<ReplayRequest, 'target' | 'includeDone' | 'includeClosed'>): Filter<EventDocument> {
  const states: EventState[] = ['dead', 'unhandled', 'pending']
  if (includeDone) states.push('done')
  if (includeClosed || 'ids' in target) states.push('closed')
  const meant = 'ids' in target ? { _id: { $in: toIds(target.ids) } } : target.filter
  return { $and: [meant, { state: { $in: states } }, IS_COMPLETE] }
}

/** Opens the replays of a database. */
export function createReplays(db: Db): Replays {
  const events = db.collection<EventDocument>(EVENTS)
  const replays = db.collection<ReplayDocument>(REPLAYS)
  const progress = async (id: string): Promise<ReplayProgress> => {
    const _id = toObjectId(id)
    const found = _id === null ? null : await replays.findOne({ _id })
    if (found === null) throw notFound({}, { says: 'No replay has this id' })
    return toProgress(found, await countStates(db, found._id))
  }
  return {
    async match(request) {
      if ('ids' in request.target) await refuseUnknownOrBusy(db, request.target.ids)
      return events.countDocuments(replayable(request), { maxTimeMS: COUNT_MS, ...AS_WRITTEN })
    },
    async start(_id, request, matched) {
      const { by, reason, ratePerSecond, target } = request
      const newest =
        'ids' in target ? null : await events.findOne({}, { sort: { _id: -1 }, projection: { _id: 1 }, ...AS_WRITTEN })
      const filter = BSON.EJSON.stringify(replayable(request))
      const entry = { by, reason, filter, ratePerSecond, matched, cursor: null, until: newest?._id ?? null }
      const clock = { startedAt: '$$NOW', leaseUntil: '$$NOW', finishedAt: null, state: 'running' }
      const u = [{ $replaceWith: { $mergeObjects: ['$$ROOT', { $literal: entry }, clock] } }]
      await bulkUpdate(db, { update: REPLAYS, updates: [{ q: { _id }, u, upsert: true }] })
    },
    progress,
    async cancel(id) {
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
    .project<{ state: EventState }>({ _id: 0, state: 1 })
    .toArray()
  if (found.length < wanted.size) throw notFound({}, { says: 'One of the ids is not that of an event' })
  if (found.some(({ state }) => state === 'processing')) throw eventsBusy()
}

interface StateCounts {
  readonly started: number
  readonly done: number
  readonly failed: number
}

/** Counted and not added up as it goes: a process may die between handing events on and noting how many. */
async function countStates(db: Db, id: ObjectId): Promise<StateCounts> {
  const count = (more: Filter<EventDocument>): Promise<number> =>
    db
      .collection<EventDocument>(EVENTS)
      .countDocuments({ 'replays.id': id, ...more }, { maxTimeMS: COUNT_MS, hint: REPLAYS_INDEX })
  const [started, done, failed] = await Promise.all([
    count({}),
    count({ state: { $in: ['done', 'unhandled'] } }),
    count({ state: { $in: ['dead', 'closed'] } }),
  ])
  return { started, done, failed }
}

function toProgress(replay: ReplayDocument, counts: StateCounts): ReplayProgress {
  const { state, matched, by, reason } = replay
  return {
    state,
    matched,
    ...counts,
    notRead: replay.notRead ?? 0,
    by,
    reason,
    startedAt: replay.startedAt.toISOString(),
    finishedAt: replay.finishedAt?.toISOString() ?? null,
  }
}
