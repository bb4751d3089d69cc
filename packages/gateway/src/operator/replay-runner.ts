import { MAJORITY } from '@oncehook/kernel/mongo/mongo-connection'
import { BSON, type Db, type Document, type Filter, type ObjectId } from 'mongodb'
import { runEvery } from '../dispatch/run-every.ts'
import { EVENTS, type EventDocument } from '../inbox/event-document.ts'
import type { Providers } from '../providers/read-providers.ts'
import { REPLAYS, type ReplayDocument } from './replays.ts'
import { reverifyEvent } from './reverify-event.ts'

/** What the runner works with. */
export interface ReplayRunnerDeps {
  readonly db: Db
  readonly providers: () => Providers
  readonly random: () => number
  readonly onError: (error: unknown) => void
}

const TICK_MS = 1_000
const LEASE_MS = 15_000
// Bodies come along to be read again, so a slice is small.
const SLICE = 100

/**
 * Makes the events of running replays due again, in order and at the rate asked for. Where a process dies, another goes
 * on behind the last slice; an event that was handed on already is passed over.
 */
export class ReplayRunner {
  readonly #deps: ReplayRunnerDeps
  #timer: { stop(): Promise<void> } | undefined

  constructor(deps: ReplayRunnerDeps) {
    this.#deps = deps
  }

  start(): void {
    const { random, onError } = this.#deps
    this.#timer = runEvery({ task: () => this.tick(), everyMs: TICK_MS, random, onError })
  }

  async stop(): Promise<void> {
    await this.#timer?.stop()
  }

  /** One round: each running replay that nobody else is busy with hands on a second's worth of events. */
  async tick(): Promise<void> {
    for (;;) {
      const replay = await this.#lease()
      if (replay === null) return
      await this.#advance(replay)
    }
  }

  async #lease(): Promise<ReplayDocument | null> {
    const replays = this.#deps.db.collection<ReplayDocument>(REPLAYS)
    return replays.findOneAndUpdate(
      { state: 'running', $expr: { $lte: ['$leaseUntil', '$$NOW'] } },
      [{ $set: { leaseUntil: { $add: ['$$NOW', LEASE_MS] } } }],
      { sort: { _id: 1 }, returnDocument: 'after' },
    )
  }

  async #advance(replay: ReplayDocument): Promise<void> {
    let open = replay
    let budget = replay.ratePerSecond ?? Number.POSITIVE_INFINITY
    while (budget > 0) {
      const slice = await this.#nextSlice(open, Math.min(SLICE, budget))
      if (slice.length > 0) await this.#handOn(open, slice)
      budget -= slice.length
      const finished = slice.length < SLICE && budget > 0
      const advanced = await this.#note(open, { slice, finished, pausing: budget <= 0 })
      if (advanced === null || finished) return
      open = advanced
    }
  }

  #nextSlice({ filter, cursor, until }: ReplayDocument, limit: number): Promise<EventDocument[]> {
    const meant = BSON.EJSON.parse(filter) as Filter<EventDocument>
    const range = { $lte: until, ...(cursor === null ? {} : { $gt: cursor }) }
    return this.#deps.db
      .collection<EventDocument>(EVENTS)
      .find({ $and: [meant, { _id: range }] })
      .sort({ _id: 1 })
      .limit(limit)
      .toArray()
  }

  async #handOn(replay: ReplayDocument, slice: readonly EventDocument[]): Promise<void> {
    const updates = await Promise.all(
      slice.map(async (record) => ({
        q: { _id: record._id, state: record.state, replayId: { $ne: replay._id } },
        u: dueAgain(replay, await this.#readAgain(record)),
      })),
    )
    await this.#deps.db.command({ update: EVENTS, updates, ordered: false, writeConcern: MAJORITY })
  }

  /** What the body says by the settings of today: a mended mapping is a usual reason for a replay. */
  async #readAgain(record: EventDocument): Promise<Document> {
    try {
      const { verified } = await reverifyEvent(record, this.#deps.providers())
      const provider = this.#deps.providers().get(record.provider)
      const events = verified === null ? [] : (provider?.readEvents(verified) ?? [])
      const event = events.find(({ id }) => id === record.eventId)
      if (event === undefined) return {}
      const { orderId, ...facts } = event.facts
      return { type: event.type, objectId: event.objectId, orderId, facts }
    } catch {
      return {}
    }
  }

  /** Moves the cursor on, unless the replay was cancelled or another process has moved it. */
  #note(
    { _id, cursor }: ReplayDocument,
    { slice, finished, pausing }: { slice: readonly EventDocument[]; finished: boolean; pausing: boolean },
  ): Promise<ReplayDocument | null> {
    const last: ObjectId | null = slice.at(-1)?._id ?? cursor
    const end = finished ? { state: 'finished', finishedAt: '$$NOW' } : {}
    const nextTurnMs = pausing ? TICK_MS - 100 : LEASE_MS
    const leaseUntil = { $add: ['$$NOW', nextTurnMs] }
    return this.#deps.db
      .collection<ReplayDocument>(REPLAYS)
      .findOneAndUpdate(
        { _id, state: 'running', cursor: { $eq: cursor } },
        [{ $set: { cursor: last, started: { $add: ['$started', slice.length] }, leaseUntil, ...end } }],
        { returnDocument: 'after' },
      )
  }
}

function dueAgain({ _id, by, reason }: ReplayDocument, read: Document): Document[] {
  const entry = { $mergeObjects: [{ at: '$$NOW' }, { $literal: { by, reason } }] }
  const literals = Object.fromEntries(Object.entries(read).map(([name, value]) => [name, { $literal: value }]))
  return [
    {
      $set: {
        ...literals,
        state: 'pending',
        reason: null,
        lost: 0,
        failures: 0,
        dueAt: '$$NOW',
        replayId: _id,
        replays: { $concatArrays: [{ $ifNull: ['$replays', []] }, [entry]] },
      },
    },
    { $unset: ['firstFailedAt', 'settledAt', 'expireAt', 'stripAt'] },
  ]
}
