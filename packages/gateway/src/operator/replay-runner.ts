import type { Logger } from '@oncehook/kernel/logger'
import { sendUpdates } from '@oncehook/kernel/mongo/bulk-update'
import { BSON, type Db, type Document, type Filter, type ObjectId } from 'mongodb'
import { runEvery } from '../dispatch/run-every.ts'
import { withBody } from '../inbox/bodies.ts'
import { EVENTS, type EventDocument } from '../inbox/event-document.ts'
import type { Providers } from '../providers/read-providers.ts'
import { readAgain } from './read-again.ts'
import { REPLAYS, type ReplayDocument } from './replay-document.ts'

/** What the runner works with. */
export interface ReplayRunnerDeps {
  readonly db: Db
  readonly providers: () => Providers
  readonly fetch: typeof globalThis.fetch
  readonly random: () => number
  readonly logger: Logger
  readonly onError: (error: unknown) => void
}

const LOOK_MS = 250
const REST_MS = 1_000
const LEASE_MS = 15_000
const SLICE = 100
// Well below the lease: reading an event again may mean to ask its provider.
const SLICE_MS = 5_000
// Then others of this process have their turn.
const TURN_EVENTS = 1_000
const NEWEST_REPLAYS = 50

/**
 * Makes the events of running replays due again, in order and at the rate asked for. Where a process dies, another goes
 * on behind the last slice; an event that was handed on already is passed over.
 */
export class ReplayRunner {
  readonly #deps: ReplayRunnerDeps
  #timer: { stop(): Promise<void> } | undefined
  #stopping = false

  constructor(deps: ReplayRunnerDeps) {
    this.#deps = deps
  }

  start(): void {
    const { random, onError } = this.#deps
    this.#timer = runEvery({ task: () => this.tick(), everyMs: LOOK_MS, random, onError })
  }

  /** Ends after the slice under way; whoever runs next goes on behind it. */
  async stop(): Promise<void> {
    this.#stopping = true
    await this.#timer?.stop()
  }

  /**
   * One round: each running replay that nobody else is busy with hands on a second's worth of events; those without a
   * rate take turns until they end.
   */
  async tick(): Promise<void> {
    while (!this.#stopping) {
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
      { sort: { leaseUntil: 1, _id: 1 }, returnDocument: 'after' },
    )
  }

  async #advance(replay: ReplayDocument): Promise<void> {
    let budget = replay.ratePerSecond ?? TURN_EVENTS
    for (let open: ReplayDocument | null = replay; open?.state === 'running'; ) {
      const limit = Math.min(SLICE, budget)
      const slice = await this.#nextSlice(open, limit)
      await this.#handOn(open, slice.updates)
      budget -= slice.updates.length
      const wasSlow = !slice.isLast && slice.updates.length < limit
      const endsTurn = budget <= 0 || wasSlow || this.#stopping
      // Where a rate is used up, so that no two processes hurry together.
      const restMs = budget <= 0 && replay.ratePerSecond !== null ? REST_MS : 0
      open = await this.#note(open, { ...slice, leaseMs: endsTurn ? restMs : LEASE_MS })
      if (endsTurn) return
    }
  }

  /** An event whose change the server refuses would be refused again: it is logged and passed over. */
  async #handOn({ _id }: ReplayDocument, updates: Slice['updates']): Promise<void> {
    if (updates.length === 0) return
    const { refused } = await sendUpdates(this.#deps.db, { update: EVENTS, updates })
    for (const { index, code } of refused) {
      const id = String(updates[index]?.q._id)
      this.#deps.logger.warn({ replayId: String(_id), id, code }, 'replay.event-refused')
    }
  }

  /** The next events with what is to become of them. Read one by one: a slice of bodies may be large. */
  async #nextSlice(replay: ReplayDocument, limit: number): Promise<Slice> {
    const { filter, cursor, until } = replay
    const meant = BSON.EJSON.parse(filter) as Filter<EventDocument>
    const range = { ...(until === null ? {} : { $lte: until }), ...(cursor === null ? {} : { $gt: cursor }) }
    const found = this.#deps.db
      .collection<EventDocument>(EVENTS)
      .find({ $and: [meant, Object.keys(range).length === 0 ? {} : { _id: range }] })
      .sort({ _id: 1 })
      .limit(limit)
    const updates: EventUpdate[] = []
    let last = cursor
    const endsAt = performance.now() + SLICE_MS
    for await (const record of found) {
      // Only as it was read, and once for each replay: what is being processed, or was handed on already, stays as it is.
      const q = { _id: record._id, state: record.state, 'replays.id': { $ne: replay._id } }
      updates.push({ q, u: dueAgain(replay, await readAgain(await withBody(this.#deps.db, record), this.#deps)) })
      last = record._id
      if (performance.now() > endsAt) return { updates, last, isLast: false }
    }
    return { updates, last, isLast: updates.length < limit }
  }

  /** Moves the cursor on. Null when another process has moved it; a replay that was cancelled meanwhile says so. */
  #note(
    { _id, cursor }: ReplayDocument,
    { last, isLast, leaseMs }: Slice & { readonly leaseMs: number },
  ): Promise<ReplayDocument | null> {
    const ifRunning = (then: unknown, member: string): Document => ({
      $cond: [{ $eq: ['$state', 'running'] }, then, `$${member}`],
    })
    const end = isLast ? { state: ifRunning('finished', 'state'), finishedAt: ifRunning('$$NOW', 'finishedAt') } : {}
    return this.#deps.db
      .collection<ReplayDocument>(REPLAYS)
      .findOneAndUpdate(
        { _id, cursor: { $eq: cursor } },
        [{ $set: { cursor: last, leaseUntil: { $add: ['$$NOW', leaseMs] }, ...end } }],
        { returnDocument: 'after' },
      )
  }
}

interface EventUpdate {
  readonly q: Document
  readonly u: readonly Document[]
}

interface Slice {
  readonly updates: readonly EventUpdate[]
  /** The id of the last event that was read, for the cursor. */
  readonly last: ObjectId | null
  /** Whether the replay ends with it. */
  readonly isLast: boolean
}

function dueAgain({ _id, by, reason }: ReplayDocument, read: Document): Document[] {
  const entry = { $mergeObjects: [{ at: '$$NOW' }, { $literal: { id: _id, by, reason } }] }
  const replays = { $concatArrays: [{ $ifNull: ['$replays', []] }, [entry]] }
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
        replays: { $slice: [replays, -NEWEST_REPLAYS] },
      },
    },
    { $unset: ['firstFailedAt', 'orderUnknownSince', 'settledAt', 'expireAt', 'stripAt', 'closed'] },
  ]
}
