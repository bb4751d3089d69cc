import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '@oncehook/kernel/log/logger'
import type { Clock } from '@oncehook/kernel/time/clock'
import { TIMED_OUT, withTimeout } from '@oncehook/kernel/time/waits'
import { EVENTS } from '@oncehook/queue/task'
import { type ChangeStream, type Db, type Document, MongoServerError, type ObjectId } from 'mongodb'
import { tailCrowded, tailShareUsed } from '../../errors.ts'
import type { EventDocument } from '../../inbox/event-document.ts'
import { withGone } from '../../inbox/key-only-record.ts'
import { type ShownEvent, showEvent } from '../events/show-event.ts'

/** Changes for a reader, with the id from which it can continue later. */
export interface TailBatch extends Pick<ChangeBatch, 'events' | 'skipped'> {
  readonly id: string
}

/** The changes of events, for any number of readers from one change stream. */
export type EventTail = ReturnType<typeof createEventTail>

const MOST_READERS = 100
// Nobody can take all places, whether by a mistake in a program or on purpose.
const MOST_OF_ONE = 20
const MOST_WAITING = 8
/** How many batches are kept for readers that reconnect. At the full rate, they cover five seconds. */
const MOST_KEPT = 20
const RESUMABLE_MS = 60_000
// Includes what the clocks of the database and of this process may differ.
const OLDEST_POSITION_MS = 120_000
const ID = /^(\d{1,15})-([0-9a-f]{1,2000})$/i

/** Creates the tail. The change stream is open only while there are readers. */
export function createEventTail(deps: {
  db: Db
  clock: Clock
  /** Monotonic milliseconds. */
  now: () => number
  logger: Logger
}) {
  const readers = new Set<TailReader>()
  let kept: TailBatch[] = []
  let feed: Feed | null = null
  let isStopping = false
  const spread = ({ position, events, skipped }: ChangeBatch): void => {
    const batch = { id: `${deps.clock.now()}-${position}`, events, skipped }
    kept = [...kept, batch].slice(-MOST_KEPT)
    for (const reader of readers) reader.add(batch)
  }
  const open = (from: string | null): void => {
    const end = new AbortController()
    const onBatch = (batch: ChangeBatch): void => {
      if (!end.signal.aborted) spread(batch)
    }
    const onError = (error: unknown): void => deps.logger.warn({ error }, 'tail.interrupted')
    const { db, now } = deps
    feed = { from, end, ended: readChanges({ db, from, now, onBatch, onError, signal: end.signal }) }
  }
  const begin = (reader: TailReader, lastId: string | null): void => {
    const from = lastId === null ? null : resumable(lastId, deps.clock.now())
    if (feed === null) {
      open(from)
      return
    }
    for (const batch of batchesAfter(kept, lastId)) reader.add(batch)
    // The first batch is still to come. It is about what follows another position.
    if (kept.length === 0 && from !== null && from !== feed.from) reader.miss()
  }
  const close = async (): Promise<void> => {
    const ending = feed
    feed = null
    kept = []
    ending?.end.abort()
    await ending?.ended
  }
  const leave = (reader: TailReader): void => {
    reader.end()
    if (readers.delete(reader) && readers.size === 0) void close()
  }
  return {
    /**
     * Adds a reader of an operator. With the id of a batch, it continues after that batch, or learns that this is no longer
     * possible.
     * @throws tailCrowded, tailShareUsed
     */
    join(operator: string, lastId: string | null): TailReader {
      if (isStopping || readers.size >= MOST_READERS) throw tailCrowded({ readers: readers.size })
      const own = [...readers].filter((reader) => reader.operator === operator).length
      if (own >= MOST_OF_ONE) throw tailShareUsed({ readers: own })
      const reader = new TailReader(operator, leave)
      readers.add(reader)
      begin(reader, lastId)
      return reader
    },
    /** Ends all readers and the change stream. */
    async stop(): Promise<void> {
      isStopping = true
      for (const reader of [...readers]) leave(reader)
      await close()
    },
  }
}

/** The position in an id. An id that is too old or not ours gets a position that does not exist, so that the reader learns of it. */
function resumable(id: string, now: number): string {
  const [, at = '0', position = ''] = ID.exec(id) ?? []
  const isRecent = now - Number(at) <= RESUMABLE_MS && Math.abs(now - timeOf(position)) <= OLDEST_POSITION_MS
  return isRecent ? position : ''
}

// A reader can claim any time in an id. The database reads its log of changes from the time that the position names: the
// type 82 of a timestamp, and its seconds since 1970.
const TIME = /^82([0-9a-f]{8})/i

/** Milliseconds since 1970. NaN for a position without a time. */
function timeOf(position: string): number {
  const [, seconds] = TIME.exec(position) ?? []
  return seconds === undefined ? Number.NaN : Number.parseInt(seconds, 16) * 1_000
}

/** The first message for a reader if the stream is already open. */
function batchesAfter(kept: readonly TailBatch[], lastId: string | null): readonly TailBatch[] {
  const at = kept.findIndex(({ id }) => id === lastId)
  if (at >= 0) return kept.slice(at + 1)
  return kept.slice(-1).map(({ id }) => ({ id, events: [], skipped: lastId === null ? 0 : null }))
}

/** The open change stream, and the position where it began. */
interface Feed {
  readonly from: string | null
  readonly end: AbortController
  readonly ended: Promise<void>
}

/** A reader of the tail. It keeps only a few batches: a slow reader loses the oldest ones, and learns how many changes are lost. */
export class TailReader {
  readonly operator: string
  readonly #onLeave: (reader: TailReader) => void
  #waiting: TailBatch[] = []
  #missed: number | null = 0
  #ended = false
  #wake: () => void = () => undefined

  constructor(operator: string, onLeave: (reader: TailReader) => void) {
    this.operator = operator
    this.#onLeave = onLeave
  }

  add(batch: TailBatch): void {
    this.#waiting.push(batch)
    const dropped = this.#waiting.length > MOST_WAITING ? this.#waiting.shift() : undefined
    if (dropped !== undefined) this.#missed = plus(this.#missed, plus(dropped.skipped, dropped.events.length))
    this.#wake()
  }

  /** Says with the next batch that an unknown number of changes is missing. */
  miss(): void {
    this.#missed = null
  }

  end(): void {
    this.#ended = true
    this.#wake()
  }

  leave(): void {
    this.#onLeave(this)
  }

  /** The next batch, or null if none comes within `ms`. Throws an AbortError when the tail stops or the reader has left. */
  async next(ms: number): Promise<TailBatch | null> {
    if (this.#waiting.length === 0 && !this.#ended) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      if ((await withTimeout(promise, ms)) === TIMED_OUT) return null
    }
    // A browser then connects again. A plain end would mean that there will be no more changes.
    if (this.#ended) throw new DOMException('The tail of events has ended', 'AbortError')
    const batch = this.#waiting.shift()
    if (batch === undefined) return null
    const skipped = plus(batch.skipped, this.#missed)
    this.#missed = 0
    return { ...batch, skipped }
  }
}

function plus(one: number | null, other: number | null): number | null {
  return one === null || other === null ? null : one + other
}

/** Changes of events that were read together. */
interface ChangeBatch {
  /** The position in the stream of changes after this batch. */
  readonly position: string
  /** The changed events as they are now, newest first. Empty for a position alone. */
  readonly events: readonly ShownEvent[]
  /** Further changes, which were too many to be read. Null: their number is unknown. */
  readonly skipped: number | null
}

interface ReadChangesOptions {
  readonly db: Db
  /** The position to continue from. Null: only what changes from now on. */
  readonly from: string | null
  /** Monotonic milliseconds. */
  readonly now: () => number
  readonly onBatch: (batch: ChangeBatch) => void
  readonly onError: (error: unknown) => void
  /** Ends the reading within about a second. */
  readonly signal: AbortSignal
}

const BATCH_MS = 250
const MOST_EVENTS = 1_000
const RETRY_MS = 500
const READ_MS = 5_000
const POSITION = /^[0-9a-f]{1,2000}$/i
// Neither bodies nor headers leave the database: the changes have ids only.
const PIPELINE: Document[] = [
  { $match: { operationType: { $in: ['insert', 'update', 'replace'] } } },
  { $project: { operationType: 1, 'documentKey._id': 1 } },
]
const SHOWN = {
  ...{
    provider: 1,
    eventId: 1,
    handler: 1,
    type: 1,
    objectId: 1,
    orderId: 1,
    state: 1,
    reason: 1,
    starts: 1,
    deliveries: 1,
  },
  ...{ mismatches: 1, test: 1, receivedAt: 1, dueAt: 1, settledAt: 1 },
} as const

/**
 * Reads the changes of events until the signal, in at most four batches a second. A batch reads each changed event
 * once, however often it changed. After an error, it continues where it was. If that is no longer possible, the next
 * batch says so. The first batch has only the position at the beginning.
 */
async function readChanges(options: ReadChangesOptions): Promise<void> {
  const { signal, onError } = options
  const place: Place = {
    from: options.from !== null && POSITION.test(options.from) ? options.from : null,
    isLost: false,
  }
  place.isLost = place.from !== options.from
  while (!signal.aborted) {
    const begun = { ...place }
    try {
      await readFrom(options, place)
    } catch (error) {
      // The position itself is refused: it is older than the database's log of changes, or of another one.
      const isRefused = error instanceof MongoServerError && place.from !== null && place.from === begun.from
      if (isRefused) Object.assign(place, { from: null, isLost: true })
      onError(error)
      await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined)
    }
  }
}

/** Where the reading continues, and whether changes before it are lost. */
interface Place {
  from: string | null
  isLost: boolean
}

async function readFrom(options: ReadChangesOptions, place: Place): Promise<void> {
  const { db, signal, now, onBatch } = options
  const resumed = place.from === null ? {} : { resumeAfter: { _data: place.from } }
  const stream = db.collection<EventDocument>(EVENTS).watch(PIPELINE, { maxAwaitTimeMS: BATCH_MS, ...resumed })
  const gathered = new GatheredChanges()
  let sentAt = Number.NEGATIVE_INFINITY
  let isBegun = false
  try {
    while (!signal.aborted) {
      const changed = await nextChanged(stream, place)
      if (changed !== null) gathered.add(changed)
      const isDue = gathered.isFilled && now() - sentAt >= BATCH_MS
      if (isBegun && !isDue) continue
      const position = positionOf(stream)
      const events = await readEvents(db, gathered.ids)
      onBatch({ position, events, skipped: place.isLost ? null : gathered.skipped })
      Object.assign(place, { from: position, isLost: false })
      gathered.clear()
      sentAt = now()
      isBegun = true
    }
  } finally {
    await stream.close()
  }
}

/**
 * The next changed event, or null if there is none for a while.
 * @throws Error at the end of the stream: the collection was dropped or renamed, as a restore does it
 */
async function nextChanged(stream: ChangeStream<EventDocument>, place: Place): Promise<ObjectId | null> {
  const change = await stream.tryNext()
  if (change !== null && 'documentKey' in change) return change.documentKey._id
  if (!stream.closed) return null
  // The driver now answers null at once whenever it is asked. Nothing else in this process would get its turn.
  Object.assign(place, { from: null, isLost: true })
  throw new Error('The collection of events was dropped or renamed')
}

/** The events that have changed since the last batch. Each is counted once. */
class GatheredChanges {
  readonly #changed = new Map<string, ObjectId>()
  skipped = 0

  get ids(): readonly ObjectId[] {
    return [...this.#changed.values()]
  }

  get isFilled(): boolean {
    return this.#changed.size > 0
  }

  add(id: ObjectId): void {
    const key = String(id)
    if (this.#changed.size < MOST_EVENTS || this.#changed.has(key)) this.#changed.set(key, id)
    else this.skipped += 1
  }

  clear(): void {
    this.#changed.clear()
    this.skipped = 0
  }
}

function positionOf({ resumeToken }: ChangeStream<EventDocument>): string {
  const position: unknown =
    typeof resumeToken === 'object' && resumeToken !== null && '_data' in resumeToken ? resumeToken._data : null
  return typeof position === 'string' ? position : ''
}

async function readEvents(db: Db, ids: readonly ObjectId[]): Promise<ShownEvent[]> {
  if (ids.length === 0) return []
  const found = await db
    .collection<EventDocument>(EVENTS)
    .find({ _id: { $in: [...ids] } }, { projection: SHOWN, maxTimeMS: READ_MS })
    .sort({ _id: -1 })
    .toArray()
  return found.map((record) => showEvent(withGone(record)))
}
