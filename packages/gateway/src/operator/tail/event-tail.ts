import type { Logger } from '@oncehook/kernel/log/logger'
import type { Clock } from '@oncehook/kernel/time/clock'
import { TIMED_OUT, withTimeout } from '@oncehook/kernel/time/waits'
import type { Db } from 'mongodb'
import { tailCrowded, tailShareUsed } from '../../errors.ts'
import { type ChangeBatch, readChanges } from './read-changes.ts'

/** Dependencies of the tail. */
export interface EventTailDeps {
  readonly db: Db
  readonly clock: Clock
  /** Monotonic milliseconds. */
  readonly now: () => number
  readonly logger: Logger
}

/** Changes for a reader, with the id from which it can continue later. */
export interface TailBatch extends Pick<ChangeBatch, 'events' | 'skipped'> {
  readonly id: string
}

/** A reader of the tail. It keeps only a few batches: a slow reader loses the oldest ones, and learns how many changes are lost. */
export interface TailReader {
  /** The next batch, or null if none comes within `ms`. Throws an AbortError when the tail stops or the reader has left. */
  next(ms: number): Promise<TailBatch | null>
  leave(): void
}

/** The changes of events, for any number of readers from one change stream. */
export interface EventTail {
  /**
   * Adds a reader of an operator. With the id of a batch, it continues after that batch, or learns that this is no longer
   * possible.
   * @throws tailCrowded, tailShareUsed
   */
  join(operator: string, lastId: string | null): TailReader
  /** Ends all readers and the change stream. */
  stop(): Promise<void>
}

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
export function createEventTail(deps: EventTailDeps): EventTail {
  const readers = new Set<QueuedReader>()
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
  const begin = (reader: QueuedReader, lastId: string | null): void => {
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
  const leave = (reader: QueuedReader): void => {
    reader.end()
    if (readers.delete(reader) && readers.size === 0) void close()
  }
  return {
    join(operator, lastId) {
      if (isStopping || readers.size >= MOST_READERS) throw tailCrowded({ readers: readers.size })
      const own = [...readers].filter((reader) => reader.operator === operator).length
      if (own >= MOST_OF_ONE) throw tailShareUsed({ readers: own })
      const reader = new QueuedReader(operator, leave)
      readers.add(reader)
      begin(reader, lastId)
      return reader
    },
    async stop() {
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

class QueuedReader implements TailReader {
  readonly operator: string
  readonly #onLeave: (reader: QueuedReader) => void
  #waiting: TailBatch[] = []
  #missed: number | null = 0
  #ended = false
  #wake: () => void = () => undefined

  constructor(operator: string, onLeave: (reader: QueuedReader) => void) {
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
