import { notFound } from '@oncehook/kernel/error-codes'
import type { NeededIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { MAJORITY } from '@oncehook/kernel/mongo/mongo-connection'
import { BSON, type Db, type Filter, ObjectId } from 'mongodb'
import { eventsBusy } from '../errors.ts'
import { EVENTS, type EventDocument } from '../inbox/event-document.ts'

/** What is to be replayed, by whom and why. */
export interface ReplayRequest {
  readonly by: string
  readonly reason: string
  readonly target: { readonly ids: readonly string[] } | { readonly filter: Filter<EventDocument> }
  readonly ratePerSecond: number | null
  readonly includeDone: boolean
}

/** A replay: a list of events that become due again, at a rate, by whichever process finds it. */
export interface ReplayDocument {
  readonly _id: ObjectId
  readonly state: 'running' | 'finished' | 'cancelled'
  readonly by: string
  readonly reason: string
  /** The filter as extended JSON: in a document of ours names that begin with $ would be trouble. */
  readonly filter: string
  readonly ratePerSecond: number | null
  readonly matched: number
  readonly started: number
  /** The newest event that was handed on; the next slice begins behind it. */
  readonly cursor: ObjectId | null
  /** Events that came after the replay was asked for are not part of it. */
  readonly until: ObjectId
  readonly leaseUntil: Date
  readonly startedAt: Date
  readonly finishedAt: Date | null
}

/** How a replay stands. Times are ISO 8601, UTC. */
export interface ReplayProgress {
  readonly state: ReplayDocument['state']
  readonly matched: number
  readonly started: number
  readonly done: number
  readonly failed: number
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
  /** Starts a replay; what it means has been counted by `match`. */
  start(request: ReplayRequest, matched: number): Promise<ObjectId>
  /** @throws notFound */
  progress(id: ObjectId): Promise<ReplayProgress>
  /** Hands on no more events; those that are due again stay so. @throws notFound */
  cancel(id: ObjectId): Promise<ReplayProgress>
}

/** The collection of replays. */
export const REPLAYS = 'replays'

/** The indexes that replays need: their own, and one that finds the events of each. */
export const REPLAY_INDEXES: readonly NeededIndexes[] = [
  {
    collection: REPLAYS,
    indexes: [{ name: 'running', key: { state: 1, _id: 1 }, partialFilterExpression: { state: 'running' } }],
  },
]

/** Which events a request means: those that are settled or waiting; done ones only when it says so. */
export function replayable({
  target,
  includeDone,
}: Pick<ReplayRequest, 'target' | 'includeDone'>): Filter<EventDocument> {
  const meant = 'ids' in target ? { _id: { $in: target.ids.map((id) => new ObjectId(id)) } } : target.filter
  const states = ['dead', 'unhandled', 'pending', ...(includeDone ? ['done'] : [])]
  return { $and: [meant, { state: { $in: states as EventDocument['state'][] } }] }
}

/** Opens the replays of a database. */
export function createReplays(db: Db): Replays {
  const events = db.collection<EventDocument>(EVENTS)
  const replays = db.collection<ReplayDocument>(REPLAYS)
  const progress = async (id: ObjectId): Promise<ReplayProgress> => {
    const found = await replays.findOne({ _id: id })
    if (found === null) throw notFound({}, { says: 'No replay has this id' })
    const [done, failed] = await Promise.all(
      (['done', 'dead'] as const).map((state) => events.countDocuments({ replayId: id, state })),
    )
    return toProgress(found, { done: done ?? 0, failed: failed ?? 0 })
  }
  return {
    async match(request) {
      if ('ids' in request.target) await refuseUnknownOrBusy(db, request.target.ids)
      return events.countDocuments(replayable(request), { maxTimeMS: 10_000 })
    },
    async start(request, matched) {
      const _id = new ObjectId()
      const { by, reason, ratePerSecond } = request
      const filter = BSON.EJSON.stringify(replayable(request))
      const entry = { by, reason, filter, ratePerSecond, matched, started: 0, cursor: null, until: new ObjectId() }
      const clock = { startedAt: '$$NOW', leaseUntil: '$$NOW', finishedAt: null, state: 'running' }
      const u = [{ $replaceWith: { $mergeObjects: ['$$ROOT', { $literal: entry }, clock] } }]
      await db.command({ update: REPLAYS, updates: [{ q: { _id }, u, upsert: true }], writeConcern: MAJORITY })
      return _id
    },
    progress,
    async cancel(id) {
      const q = { _id: id, state: 'running' }
      const u = [{ $set: { state: 'cancelled', finishedAt: '$$NOW' } }]
      await db.command({ update: REPLAYS, updates: [{ q, u }], writeConcern: MAJORITY })
      return progress(id)
    },
  }
}

async function refuseUnknownOrBusy(db: Db, ids: readonly string[]): Promise<void> {
  const wanted = new Set(ids)
  const found = await db
    .collection<EventDocument>(EVENTS)
    .find({ _id: { $in: [...wanted].map((id) => new ObjectId(id)) } })
    .project<{ state: string }>({ _id: 0, state: 1 })
    .toArray()
  if (found.length < wanted.size) throw notFound({}, { says: 'One of the ids is not that of an event' })
  if (found.some(({ state }) => state === 'processing')) throw eventsBusy()
}

function toProgress(replay: ReplayDocument, counts: { done: number; failed: number }): ReplayProgress {
  const { state, matched, started, by, reason } = replay
  return {
    state,
    matched,
    started,
    ...counts,
    by,
    reason,
    startedAt: replay.startedAt.toISOString(),
    finishedAt: replay.finishedAt?.toISOString() ?? null,
  }
}
