import { setTimeout as sleep } from 'node:timers/promises'
import { type ChangeStream, type Db, type Document, MongoServerError, type ObjectId } from 'mongodb'
import { EVENTS, type EventDocument } from '../../inbox/event-document.ts'
import { withGone } from '../../inbox/key-only-record.ts'
import { type ShownEvent, showEvent } from '../events/show-event.ts'

/** Changes of events that were read together. */
export interface ChangeBatch {
  /** The position in the stream of changes after this batch. */
  readonly position: string
  /** The changed events as they are now, newest first. Empty for a position alone. */
  readonly events: readonly ShownEvent[]
  /** Further changes, which were too many to be read. Null: their number is unknown. */
  readonly skipped: number | null
}

/** Dependencies of a reader of changes, and where the changes go. */
export interface ReadChangesOptions {
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
export async function readChanges(options: ReadChangesOptions): Promise<void> {
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
