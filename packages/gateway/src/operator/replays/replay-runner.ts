import type { Logger } from '@oncehook/kernel/log/logger'
import { fromNow, leaseHasEnded } from '@oncehook/kernel/mongo/database-clock'
import type { Encryption } from '@oncehook/kernel/secrets/encryption'
import { type RunningTask, runPeriodically } from '@oncehook/kernel/time/run-periodically'
import { EVENTS } from '@oncehook/queue/task'
import { BSON, type Db, type Document, type Filter, type FindCursor, type ObjectId } from 'mongodb'
import { type EventDocument, FULFILMENT } from '../../inbox/event-document.ts'
import type { FindWanting } from '../../webhooks/find-wanting.ts'
import type { Providers } from '../../webhooks/providers/providers.ts'
import { type ReadSlice, readSlice, type SearchPart, writeSlice } from './replay-slice.ts'
import { REPLAYS, type ReplayDocument } from './replays.ts'

/** The handlers that can get tasks of stored events. */
interface BackfilledHandlers {
  readonly current: () => { readonly keys: () => Iterable<string>; readonly has: (name: string) => boolean }
  readonly findWanting: FindWanting
}

export interface ReplayRunnerDeps {
  readonly db: Db
  readonly encryption: Encryption
  readonly providers: () => Providers
  readonly fetch: typeof globalThis.fetch
  /** The configured handlers. Absent: none are. */
  readonly handlers?: BackfilledHandlers | undefined
  readonly random: () => number
  readonly logger: Logger
  readonly onError: (error: unknown) => void
  /**
   * Milliseconds that a search may take before it continues in parts of a limited number of records. Default: 1,000.
   */
  readonly searchMs?: number
  /** The maximum number of records that a part of such a search examines. Default: 50,000. */
  readonly partRecords?: number
}

const LOOK_MS = 250
// While no replay runs. A process looks at once when an operator starts a replay there.
const LOOK_IDLE_MS = 20_000
const IDLE_AFTER_MS = 5_000
const REST_MS = 1_000
const LEASE_MS = 15_000
const SLICE = 100
// After this, other replays of this process take their turn.
const TURN_EVENTS = 1_000
const TURN_MS = 5_000
// Together with a slice, this is below the lease.
const SEARCH_MS = 1_000
const PART = { ms: 4_000, records: 50_000, leastRecords: 100 } as const

/**
 * Makes the events of running replays due again, in order and at the requested rate. If a process dies, another
 * continues after the last slice. Events that were already made due again are skipped.
 */
export class ReplayRunner {
  readonly #deps: ReplayRunnerDeps
  #timer: RunningTask | undefined
  #isIdle = false
  /** When it last knew of a running replay, by `performance.now()`. */
  #foundAt = Number.NEGATIVE_INFINITY
  #stopping = false
  #partRecords: number

  constructor(deps: ReplayRunnerDeps) {
    this.#deps = deps
    this.#partRecords = deps.partRecords ?? PART.records
  }

  start(): void {
    const { random, onError } = this.#deps
    const everyMs = (): number => (this.#isIdle ? LOOK_IDLE_MS : LOOK_MS)
    this.#timer = runPeriodically({ task: () => this.#look(), everyMs, random, onError })
  }

  /** Looks for a replay at once. */
  wake(): void {
    this.#timer?.wake()
  }

  /** Ends after the current slice. The next runner continues after it. */
  async stop(): Promise<void> {
    this.#stopping = true
    await this.#timer?.stop()
  }

  /**
   * One round. Each running replay that no other process works on makes a second's worth of events due again. Replays
   * without a rate take turns until they end.
   */
  async tick(): Promise<void> {
    while (!this.#stopping) {
      const replay = await this.#lease()
      if (replay === null) return
      this.#foundAt = performance.now()
      await this.#advance(replay)
    }
  }

  /** A round, unless there is no replay to run. It looks often if one runs in another process, because that process may die. */
  async #look(): Promise<void> {
    if (performance.now() - this.#foundAt > IDLE_AFTER_MS) {
      this.#isIdle = !(await this.#anyRuns())
      if (this.#isIdle) return
      this.#foundAt = performance.now()
    }
    await this.tick()
  }

  async #anyRuns(): Promise<boolean> {
    const options = { projection: { _id: 1 } }
    return (await this.#deps.db.collection<ReplayDocument>(REPLAYS).findOne(this.#runnable, options)) !== null
  }

  async #lease(): Promise<ReplayDocument | null> {
    const replays = this.#deps.db.collection<ReplayDocument>(REPLAYS)
    return replays.findOneAndUpdate(
      { ...this.#runnable, $expr: leaseHasEnded(LEASE_MS) },
      [{ $set: { leaseUntil: fromNow(LEASE_MS) } }],
      { sort: { leaseUntil: 1, _id: 1 }, returnDocument: 'after' },
    )
  }

  /** Not those for a handler that this process does not know: it may not have read the file yet. */
  get #runnable(): Document {
    const names = [...(this.#deps.handlers?.current().keys() ?? [])]
    return { state: 'running', handler: { $in: [null, FULFILMENT, ...names] } }
  }

  /** Whether the handler of a replay, if it has one, is configured in this process. */
  #knows({ handler }: ReplayDocument): boolean {
    if (handler === undefined || handler === FULFILMENT) return true
    return this.#deps.handlers?.current().has(handler) === true
  }

  async #advance(replay: ReplayDocument): Promise<void> {
    let budget = replay.ratePerSecond ?? TURN_EVENTS
    let inParts = false
    const turnEndsAt = performance.now() + TURN_MS
    for (let open: ReplayDocument | null = replay; isOpen(open); ) {
      const slice = await this.#nextSlice(open, { limit: Math.min(SLICE, budget), inParts })
      // The cursor stays: when the handler is configured again, the replay continues here.
      if (!this.#knows(open)) return
      await this.#handOn(open, slice)
      inParts = slice.inParts
      budget -= slice.updates.length
      const endsTurn = budget <= 0 || slice.isSlow || performance.now() > turnEndsAt || this.#stopping
      // If a rate is used up, the replay rests, so that two processes together do not exceed it.
      const restMs = budget <= 0 && replay.ratePerSecond !== null ? REST_MS : 0
      open = await this.#note(open, { ...slice, leaseMs: endsTurn ? restMs : LEASE_MS })
      if (endsTurn) return
    }
  }

  /** If the server refuses a change to an event, it would refuse it again. So the event is logged and skipped. */
  async #handOn(replay: ReplayDocument, { updates, notRead }: Slice): Promise<void> {
    const { db, logger } = this.#deps
    const replayId = String(replay._id)
    for (const { id, code } of await writeSlice(db, updates)) {
      logger.warn({ replayId, id: String(id), code }, 'replay.event-refused')
    }
    // One line per slice and reason: there may be millions of events.
    for (const [why, events] of Map.groupBy(notRead, (one) => one.why)) {
      const line = { replayId, why, events: events.length, first: events[0]?.id }
      logger.warn(line, events[0]?.isLeftOut === true ? 'replay.events-left-out' : 'replay.events-not-read')
    }
  }

  /**
   * The next events and their changes. A search without a suitable index could examine all records after the cursor
   * again and again without a match. If it takes too long, it continues in parts.
   */
  async #nextSlice(
    replay: ReplayDocument,
    { limit, inParts }: { readonly limit: number; readonly inParts: boolean },
  ): Promise<Slice> {
    const { db, searchMs = SEARCH_MS } = this.#deps
    if (!inParts) {
      const slice = await this.#read(replay, searchToEnd(db, replay, { limit, maxTimeMS: searchMs }), limit)
      if (!slice.hasExpired || slice.updates.length > 0) return { ...slice, inParts: false }
    }
    const part = { limit, maxTimeMS: PART.ms, records: this.#partRecords }
    const slice = await this.#read(replay, await searchRecords(db, replay, part), limit)
    const records = slice.hasExpired ? Math.floor(part.records / 10) : part.records * 2
    this.#partRecords = Math.min(Math.max(records, PART.leastRecords), this.#deps.partRecords ?? PART.records)
    return { ...slice, inParts: true }
  }

  #read(replay: ReplayDocument, part: SearchPart, limit: number): Promise<ReadSlice> {
    return readSlice({ ...this.#deps, findWanting: this.#deps.handlers?.findWanting }, replay, part, limit)
  }

  /**
   * Moves the cursor forward. Null if another process has moved it. If the replay was cancelled in the meantime, the
   * result has that state.
   */
  async #note(replay: ReplayDocument, slice: Slice & { readonly leaseMs: number }): Promise<ReplayDocument | null> {
    const { _id, cursor } = replay
    const { last, notRead, isLast, leaseMs } = slice
    const counted = { $add: [{ $ifNull: ['$notRead', 0] }, notRead.length] }
    const end = isLast ? { state: ifOpen('finished', 'state'), finishedAt: ifOpen('$$NOW', 'finishedAt') } : {}
    const noted = await this.#deps.db
      .collection<ReplayDocument>(REPLAYS)
      .findOneAndUpdate(
        { _id, cursor: { $eq: cursor } },
        [{ $set: { cursor: last, notRead: counted, leaseUntil: fromNow(leaseMs), ...end } }],
        { returnDocument: 'after' },
      )
    if (noted?.state === 'cancelled') await this.#takeBack(replay, slice)
    return noted
  }

  /**
   * Removes the tasks of a slice whose backfill was cancelled meanwhile: this process may have slept since it read the events, and they
   * may have been erased since.
   */
  async #takeBack({ _id, handler }: ReplayDocument, { updates }: Slice): Promise<void> {
    if (handler === undefined || updates.length === 0) return
    const $or = updates.map(({ statement }) => statement.q)
    await this.#deps.db.collection(EVENTS).deleteMany({ $or, state: 'pending', 'replays.id': _id })
  }
}

function ifOpen(then: string, member: string): Document {
  return { $cond: [{ $eq: ['$state', 'running'] }, then, `$${member}`] }
}

function isOpen(replay: ReplayDocument | null): replay is ReplayDocument {
  return replay?.state === 'running'
}

interface Slice extends ReadSlice {
  /** Whether the next slice of this turn begins with a search in parts. */
  readonly inParts: boolean
}

/** The limits of a part of a search: matching events, and milliseconds in the database. */
interface SearchLimits {
  readonly limit: number
  readonly maxTimeMS: number
}

/** Searches after the cursor of a replay, with any suitable index. Without one, it can expire without any match. */
function searchToEnd(db: Db, replay: ReplayDocument, limits: SearchLimits): SearchPart {
  return { found: find(db, replay, replay.until, limits), end: null }
}

/** Searches the next `records` records after the cursor, whether they match or not. So its cost is limited. */
async function searchRecords(
  db: Db,
  replay: ReplayDocument,
  { records, ...limits }: SearchLimits & { readonly records: number },
): Promise<SearchPart> {
  const [last] = await db
    .collection<EventDocument>(EVENTS)
    .find(idRange(replay, replay.until), { maxTimeMS: limits.maxTimeMS, hint: BY_ID })
    .project<Pick<EventDocument, '_id'>>({ _id: 1 })
    .sort(BY_ID)
    .skip(records - 1)
    .limit(1)
    .toArray()
  const end = last?._id ?? null
  return { found: find(db, replay, end ?? replay.until, limits).hint(BY_ID), end }
}

const BY_ID = { _id: 1 } as const

function find(db: Db, replay: ReplayDocument, end: ObjectId | null, limits: SearchLimits): FindCursor<EventDocument> {
  const meant = BSON.EJSON.parse(replay.filter) as Filter<EventDocument>
  return db
    .collection<EventDocument>(EVENTS)
    .find({ $and: [meant, idRange(replay, end)] }, { maxTimeMS: limits.maxTimeMS })
    .sort(BY_ID)
    .limit(limits.limit)
}

function idRange({ cursor }: ReplayDocument, end: ObjectId | null): Filter<EventDocument> {
  if (end === null && cursor === null) return {}
  return { _id: { ...(end === null ? {} : { $lte: end }), ...(cursor === null ? {} : { $gt: cursor }) } }
}
