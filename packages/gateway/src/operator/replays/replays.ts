import { notFound } from '@oncehook/kernel/http/error-codes'
import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import { BSON, type Db, type Filter, type ObjectId } from 'mongodb'
import { eventsBusy } from '../../errors.ts'
import { EVENTS, type EventDocument, type EventState, REPLAYS_INDEX } from '../../inbox/event-document.ts'
import { IS_COMPLETE } from '../../inbox/key-only-record.ts'
import { AS_WRITTEN } from '../events/as-written.ts'
import { toObjectId } from '../events/event-filter.ts'
import { REPLAYS, type ReplayDocument } from './replay-document.ts'

/** What to replay, who requests it, and why. */
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

/** The progress of a replay. Times are ISO 8601, UTC. */
export interface ReplayProgress {
  readonly state: ReplayDocument['state']
  /** The number of events that the request selected when it was made. It does not change. */
  readonly matched: number
  /**
   * Events made due again so far, or tasks inserted by a backfill. At the end they may be fewer than `matched`, if other
   * requests were faster or the handler does not want all.
   */
  readonly started: number
  /** Of these, the events that are done or unhandled now, and those that are dead or closed now. */
  readonly done: number
  readonly failed: number
  /** Events whose body could not be read with the current settings. The earlier mapping then applies. */
  readonly notRead: number
  readonly by: string
  readonly reason: string
  readonly startedAt: string
  readonly finishedAt: string | null
}

/** Starts replays and shows their progress. */
export interface Replays {
  /**
   * Counts the events that a request selects. It changes nothing.
   * @throws notFound for an unknown id, eventsBusy for one that is being processed
   */
  match(request: ReplayRequest): Promise<number>
  /** Starts a replay under a new id. `matched` is the result of `match`. */
  start(_id: ObjectId, request: ReplayRequest, matched: number): Promise<void>
  /** @throws notFound */
  progress(id: string): Promise<ReplayProgress>
  /**
   * Makes no more events due again. Events that are already due stay due.
   * @throws notFound
   */
  cancel(id: string): Promise<ReplayProgress>
}

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
  const states: EventState[] = ['dead', 'unhandled', 'pending']
  if (includeDone) states.push('done')
  if (includeClosed || 'ids' in target) states.push('closed')
  // An event does not change if another handler gets a task of it.
  if (handler !== undefined) states.push('processing')
  const meant = 'ids' in target ? { _id: { $in: toIds(target.ids) } } : target.filter
  return { $and: [meant, { state: { $in: states } }, IS_COMPLETE] }
}

/** Opens the replays of a database. `onStarted` is called when a replay has been stored. */
export function createReplays(db: Db, onStarted: () => void = () => undefined): Replays {
  const events = db.collection<EventDocument>(EVENTS)
  const replays = db.collection<ReplayDocument>(REPLAYS)
  const progress = async (id: string): Promise<ReplayProgress> => {
    const _id = toObjectId(id)
    const found = _id === null ? null : await replays.findOne({ _id })
    if (found === null) throw notFound({}, { message: 'No replay has this id' })
    return toProgress(found, await countStates(db, found._id))
  }
  return {
    async match(request) {
      if ('ids' in request.target) await refuseUnknownOrBusy(db, request.target.ids)
      return events.countDocuments(replayable(request), { maxTimeMS: COUNT_MS, ...AS_WRITTEN })
    },
    async start(_id, request, matched) {
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
  if (found.length < wanted.size) throw notFound({}, { message: 'Unknown event id' })
  if (found.some(({ state }) => state === 'processing')) throw eventsBusy()
}

interface StateCounts {
  readonly started: number
  readonly done: number
  readonly failed: number
}

/** Counted from the events instead of added up: a process may die between making events due and writing their number. */
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
