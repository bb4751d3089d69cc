import type { Encryption } from '@oncehook/kernel/encryption'
import type { Logger } from '@oncehook/kernel/logger'
import { sendUpdates } from '@oncehook/kernel/mongo/bulk-update'
import { fromNow, leaseHasEnded } from '@oncehook/kernel/mongo/lease'
import { type RunningTask, runPeriodically } from '@oncehook/kernel/run-periodically'
import type { Db, Document, ObjectId } from 'mongodb'
import type { FindWanting } from '../../handlers/events/find-wanting.ts'
import { EVENTS, type EventDocument } from '../../inbox/event-document.ts'
import { IS_COMPLETE } from '../../inbox/key-only-record.ts'
import { makeDueAgain } from '../../inbox/transitions.ts'
import type { Providers } from '../../providers/read-providers.ts'
import { planBackfill } from './plan-backfill.ts'
import type { RemapResult } from './remap.ts'
import { REPLAYS, type ReplayDocument } from './replay-document.ts'
import { hasExpired, type SearchPart, searchRecords, searchToEnd } from './replay-search.ts'
import { createSliceReader } from './slice-reader.ts'

/** Dependencies of the runner. */
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

/** The handlers that can get tasks of stored events. */
interface BackfilledHandlers {
  readonly current: () => { readonly keys: () => Iterable<string> }
  readonly findWanting: FindWanting
}

const LOOK_MS = 250
// While no replay runs. A process looks at once when an operator starts a replay there.
const LOOK_IDLE_MS = 20_000
const IDLE_AFTER_MS = 5_000
const REST_MS = 1_000
const LEASE_MS = 15_000
const SLICE = 100
// Well below the lease: reading an event again may require a request to its provider.
const SLICE_MS = 5_000
// After this, other replays of this process take their turn.
const TURN_EVENTS = 1_000
const TURN_MS = 5_000
// Together with a slice, this is below the lease.
const SEARCH_MS = 1_000
const PART_MS = 4_000
const PART_RECORDS = 50_000
const LEAST_RECORDS = 100

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
    this.#partRecords = deps.partRecords ?? PART_RECORDS
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
    return { state: 'running', handler: { $in: [null, ...(this.#deps.handlers?.current().keys() ?? [])] } }
  }

  async #advance(replay: ReplayDocument): Promise<void> {
    let budget = replay.ratePerSecond ?? TURN_EVENTS
    let inParts = false
    const turnEndsAt = performance.now() + TURN_MS
    for (let open: ReplayDocument | null = replay; open?.state === 'running'; ) {
      const slice = await this.#nextSlice(open, { limit: Math.min(SLICE, budget), inParts })
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
  async #handOn({ _id }: ReplayDocument, { updates, notRead }: Slice): Promise<void> {
    if (updates.length === 0) return
    const { db, logger } = this.#deps
    const replayId = String(_id)
    const { refused } = await sendUpdates(db, { update: EVENTS, updates })
    for (const { index, code } of refused) {
      logger.warn({ replayId, id: String(updates[index]?.q._id), code }, 'replay.event-refused')
    }
    // One line per slice and reason: there may be millions of events.
    for (const [why, ids] of Map.groupBy(notRead, (one) => one.why)) {
      logger.warn({ replayId, why, events: ids.length, first: ids[0]?.id }, 'replay.events-not-read')
    }
  }

  /**
   * The next events and their changes. A search without a suitable index could examine all records after the cursor
   * again and again without a match. If it takes too long, it continues in parts.
   */
  async #nextSlice(replay: ReplayDocument, { limit, inParts }: { limit: number; inParts: boolean }): Promise<Slice> {
    const { db, searchMs = SEARCH_MS } = this.#deps
    if (!inParts) {
      const slice = await this.#read(replay, searchToEnd(db, replay, { limit, maxTimeMS: searchMs }), limit)
      if (!slice.hasExpired || slice.updates.length > 0) return { ...slice, inParts: false }
    }
    const part = { limit, maxTimeMS: PART_MS, records: this.#partRecords }
    const slice = await this.#read(replay, await searchRecords(db, replay, part), limit)
    const records = slice.hasExpired ? Math.floor(part.records / 10) : part.records * 2
    this.#partRecords = Math.min(Math.max(records, LEAST_RECORDS), this.#deps.partRecords ?? PART_RECORDS)
    return { ...slice, inParts: true }
  }

  /** Reads events one by one, because the bodies of a slice may be large. */
  async #read(replay: ReplayDocument, { found, end }: SearchPart, limit: number): Promise<Omit<Slice, 'inParts'>> {
    const updates: EventUpdate[] = []
    const notRead: NotRead[] = []
    const readRecord = createSliceReader(this.#deps, this.#deps)
    let last = replay.cursor
    let examined = 0
    const endsAt = performance.now() + SLICE_MS
    try {
      for await (const record of found) {
        const read = await readRecord(record)
        if ('failure' in read) notRead.push({ id: String(record._id), why: read.failure })
        examined += 1
        updates.push(...(await this.#plan(replay, record, read)))
        last = record._id
        if (performance.now() > endsAt)
          return { updates, notRead, last, isLast: false, isSlow: true, hasExpired: false }
      }
    } catch (error) {
      if (!hasExpired(error)) throw error
      return { updates, notRead, last, isLast: false, isSlow: true, hasExpired: true }
    }
    const isThrough = examined < limit
    const reached = { last: isThrough ? (end ?? last) : last, isLast: isThrough && end === null }
    return { updates, notRead, ...reached, isSlow: false, hasExpired: false }
  }

  /** The update for an event. Of a backfill, there is none if its handler does not want the event. */
  async #plan(replay: ReplayDocument, record: EventDocument, read: RemapResult): Promise<readonly EventUpdate[]> {
    const { handler } = replay
    if (handler === undefined) return [{ q: unchanged(record, replay), u: dueAgain(replay, read) }]
    const { handlers, db, encryption } = this.#deps
    if (handlers === undefined) return []
    const { findWanting } = handlers
    const insert = await planBackfill({ db, encryption, findWanting }, replay, { record, read, handler })
    return insert === null ? [] : [insert]
  }

  /**
   * Moves the cursor forward. Null if another process has moved it. If the replay was cancelled in the meantime, the
   * result has that state.
   */
  #note(
    { _id, cursor }: ReplayDocument,
    { last, isLast, notRead, leaseMs }: Slice & { readonly leaseMs: number },
  ): Promise<ReplayDocument | null> {
    const ifRunning = (then: unknown, member: string): Document => ({
      $cond: [{ $eq: ['$state', 'running'] }, then, `$${member}`],
    })
    const end = isLast ? { state: ifRunning('finished', 'state'), finishedAt: ifRunning('$$NOW', 'finishedAt') } : {}
    const counted = { $add: [{ $ifNull: ['$notRead', 0] }, notRead.length] }
    return this.#deps.db
      .collection<ReplayDocument>(REPLAYS)
      .findOneAndUpdate(
        { _id, cursor: { $eq: cursor } },
        [{ $set: { cursor: last, notRead: counted, leaseUntil: fromNow(leaseMs), ...end } }],
        { returnDocument: 'after' },
      )
  }
}

interface EventUpdate {
  readonly q: Document
  readonly u: readonly Document[]
}

/** An event whose body could not be read with the current settings. The mapping from its receipt then applies. */
interface NotRead {
  readonly id: string
  readonly why: string
}

interface Slice {
  readonly updates: readonly EventUpdate[]
  readonly notRead: readonly NotRead[]
  /** The id up to which everything has been examined, for the cursor. */
  readonly last: ObjectId | null
  /** Whether the replay ends with this slice. */
  readonly isLast: boolean
  /** Whether other replays take their turn now. */
  readonly isSlow: boolean
  /** Whether the database aborted the search. */
  readonly hasExpired: boolean
  /** Whether the next slice of this turn begins with a search in parts. */
  readonly inParts: boolean
}

/**
 * An event is changed only in the state in which it was read, and once for each replay. If it is being processed, or
 * was already made due again, it stays as it is.
 */
function unchanged({ _id, slot, state }: EventDocument, replay: ReplayDocument): Document {
  const named = slot === undefined ? { _id } : { _id, slot }
  return { ...named, state, 'replays.id': { $ne: replay._id }, ...IS_COMPLETE }
}

function dueAgain({ _id, by, reason }: ReplayDocument, read: RemapResult): Document[] {
  const notRead = 'failure' in read ? { notRead: read.failure } : {}
  return makeDueAgain({ id: _id, by, reason, ...notRead }, 'members' in read ? read.members : {})
}
