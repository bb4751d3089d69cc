import { DUE_INDEX, EVENTS, KEY_INDEX, LISTED_STATES, STATE_INDEX } from '@oncehook/queue/task'
import { type Db, type Filter, type FindOptions, ObjectId } from 'mongodb'
import { type EventDocument, ORDER_INDEX, ORDER_STATES } from '../../inbox/event-document.ts'
import { hasExpired } from '../operator-trpc.ts'
import { beforeCursor, type EventFilter, idRangeOf, toMongoFilter } from './event-filter.ts'
import { LIST_PROJECTION } from './show-event.ts'

/** A page of events: at most `limit`, older than `after`. */
export interface PageOfEvents {
  readonly filter: EventFilter
  readonly after: string | undefined
  readonly limit: number
  /** Decides about records that match the filter. It gets them with their bodies as stored. Default: all are wanted. */
  readonly isWanted?: ((record: EventDocument) => Promise<boolean>) | undefined
}

/** The time that a search may take. `now` is in milliseconds and never goes back. */
export interface SearchBudget {
  readonly ms: number
  readonly now: () => number
}

/** The events of a page, newest first. */
export interface FoundEvents {
  readonly records: readonly EventDocument[]
  /** The position after the page: the next one begins right there. Null if there are no more events. */
  readonly next: string | null
  /** How far back the search came in its time. Null if the page is full, or if all events were searched. */
  readonly cut: { readonly searchedTo: Date } | null
}

/**
 * Finds the newest events that match a filter, newest first. Without a suitable index it searches in slices, until the
 * page is full or the time is up. Each call makes some progress: a slice, or a batch of bodies.
 * @throws MongoServerError if the index that it uses is not built yet
 */
export async function findNewest(db: Db, page: PageOfEvents, budget: SearchBudget): Promise<FoundEvents> {
  const { limit, isWanted = async () => true } = page
  const endsAt = budget.now() + budget.ms
  const records: EventDocument[] = []
  let examined = 0
  for await (const { found, reached } of searchSteps(db, page)) {
    examined += 1
    if (found !== null && (await isWanted(found))) records.push(found)
    if (records.length > limit) {
      const shown = records.slice(0, limit)
      return { records: shown, next: String(shown.at(-1)?._id), cut: null }
    }
    if (!mayStop(found, examined, page)) continue
    const isFull = records.length === limit && found === null
    if (isFull || budget.now() >= endsAt) return { records, next: String(reached), cut: cutAt(reached, records, limit) }
  }
  return { records, next: null, cut: null }
}

/** Whether a search may stop here: at the end of a slice, or after some bodies. */
function mayStop(found: EventDocument | null, examined: number, { isWanted }: PageOfEvents): boolean {
  return found === null || (isWanted !== undefined && examined >= BODIES_AT_ONCE)
}

function cutAt(reached: ObjectId, records: readonly EventDocument[], limit: number): FoundEvents['cut'] {
  return records.length === limit ? null : { searchedTo: reached.getTimestamp() }
}

/** How many records to read at once, and which of their fields. */
interface Reading {
  readonly most: number
  readonly options: FindOptions
}

// Bodies may be large, and other work, such as deliveries, runs between two batches.
const BODIES_AT_ONCE = 20

function readingOf({ limit, isWanted }: PageOfEvents): Reading {
  if (isWanted === undefined) {
    return { most: limit + 1, options: { projection: LIST_PROJECTION, limit: limit + 1 } }
  }
  const options = { projection: { attempts: 0, facts: 0 }, batchSize: BODIES_AT_ONCE }
  return { most: BODIES_AT_ONCE, options }
}

async function* searchSteps(db: Db, page: PageOfEvents): AsyncGenerator<SearchStep<EventDocument>> {
  const { filter, after, isWanted } = page
  const meant = await toMongoFilter(db, filter)
  // Bodies are read in many parts, which must not sort all records of a provider each time.
  const searches = isWanted === undefined ? await indexedSearches(db, filter) : searchesByIds(filter)
  const reading = readingOf(page)
  let reached = after === undefined ? undefined : new ObjectId(after)
  try {
    while (searches.length > 0) {
      const records = await findIndexed(db, searches, { meant, after: reached }, reading)
      for (const found of records) {
        reached = found._id
        yield { found, reached }
      }
      if (records.length < reading.most) return
    }
  } catch (error) {
    if (!hasExpired(error)) throw error
  }
  const order = idOrderOf(filter)
  const options = { ...reading.options, hint: order.hint }
  yield* walkSlices(db, { order, range: idRangeOf(filter), after: reached }, (slice, maxTimeMS) =>
    db
      .collection<EventDocument>(EVENTS)
      .find({ $and: [meant, slice] }, { ...options, maxTimeMS })
      .sort({ _id: -1 }),
  )
}

async function findIndexed(
  db: Db,
  searches: readonly PartialSearch[],
  { meant, after }: { meant: Filter<EventDocument>; after: ObjectId | undefined },
  { most, options }: Reading,
): Promise<EventDocument[]> {
  const parts = searches.map(({ states, hint }) =>
    db
      .collection<EventDocument>(EVENTS)
      .find(
        { $and: [meant, beforeCursor(after), states] },
        { ...options, maxTimeMS: INDEXED_MS, ...(hint === undefined ? {} : { hint }) },
      )
      .sort({ _id: -1 })
      .limit(most)
      .toArray(),
  )
  // A record that changes its state meanwhile can be found by two searches.
  const found = new Map((await Promise.all(parts)).flat().map((record) => [String(record._id), record]))
  return [...found.values()].sort(byNewest).slice(0, most)
}

function byNewest(a: EventDocument, b: EventDocument): number {
  return Buffer.compare(b._id.id, a._id.id)
}

/**
 * A part of a search. The hint names an index: while it is being built, the server refuses the search instead of
 * reading every record.
 */
interface PartialSearch {
  readonly states: Filter<EventDocument>
  readonly hint?: string
}

/** Milliseconds for a part. If it takes longer, it finds more than expected, and slices are faster. */
const INDEXED_MS = 1_000

const FEW = 2_000
const COUNT_MS = 500

/**
 * The searches that find few records through an index. Empty if there is no such index. There is one for a provider
 * with few records, which may be far back, behind the records of all others.
 */
async function indexedSearches(db: Db, filter: EventFilter): Promise<readonly PartialSearch[]> {
  const searches = searchesByIds(filter)
  const { provider } = filter
  if (searches.length > 0 || provider === undefined) return searches
  return (await hasFew(db, provider)) ? [{ states: {}, hint: KEY_INDEX.name }] : []
}

/** Whether a provider has few records. This reads only the index, and only as much of it as few records have. */
async function hasFew(db: Db, provider: string): Promise<boolean> {
  const options = { limit: FEW + 1, maxTimeMS: COUNT_MS, hint: KEY_INDEX.name }
  const counted = db.collection<EventDocument>(EVENTS).countDocuments({ provider: { $eq: provider } }, options)
  return counted.then(
    (count) => count <= FEW,
    (error: unknown) => {
      if (hasExpired(error)) return false
      throw error
    },
  )
}

/**
 * The searches by an id or for few open records. The index of orders has every state but one. A search for an order therefore uses
 * it, and for what is being processed the index of work, in which that is as much as the processes hold.
 */
function searchesByIds({ orderId, eventId, state }: EventFilter): readonly PartialSearch[] {
  // The index of event ids is the best.
  if (eventId !== undefined) return [{ states: {} }]
  if (state === 'processing') return [{ states: {}, hint: DUE_INDEX }]
  if (orderId === undefined) return state === 'pending' ? [{ states: {}, hint: STATE_INDEX }] : []
  if (state !== undefined) return [{ states: {}, hint: ORDER_INDEX }]
  return [
    { states: { state: { $in: [...ORDER_STATES] } }, hint: ORDER_INDEX },
    { states: { state: 'processing' }, hint: DUE_INDEX },
  ]
}

/** The smallest index in the order of ids that contains all records which match. */
function idOrderOf({ state }: EventFilter): IdOrder {
  const listed = LISTED_STATES.find((one) => one === state)
  return listed === undefined ? { records: {}, hint: { _id: 1 } } : { records: { state: listed }, hint: STATE_INDEX }
}

/** An index in the order of ids, and the records that it contains. */
interface IdOrder {
  readonly records: Filter<EventDocument>
  readonly hint: string | { readonly _id: 1 }
}

/** What to walk through: the records of an index whose ids are in a range, older than `after`. */
interface Walk {
  readonly order: IdOrder
  readonly range: Filter<EventDocument>
  readonly after: ObjectId | undefined
}

/** A step of a search: what was found, or null at the end of a slice. Everything down to `reached` was searched. */
interface SearchStep<Found> {
  readonly found: Found | null
  readonly reached: ObjectId
}

const SLICE_MS = 2_000
const FIRST_RECORDS = 500
const MOST_RECORDS = 5_000
const LEAST_RECORDS = 50

/**
 * Reads records in slices of a limited number, newest first, whether they match or not. This limits the cost of each
 * command, and a search without a suitable index can stop and continue anywhere. Ends when all records are read. `read`
 * finds results in a slice, newest first; the `_id` of a result is that of the oldest record it covers.
 * @throws MongoServerError with code 50 if even a small slice takes longer than 2 s
 */
export async function* walkSlices<Found extends { readonly _id: ObjectId }>(
  db: Db,
  walk: Walk,
  read: (slice: Filter<EventDocument>, maxTimeMS: number) => AsyncIterable<Found>,
): AsyncGenerator<SearchStep<Found>> {
  let reached = walk.after
  let size = FIRST_RECORDS
  for (;;) {
    try {
      const end = await findEnd(db, { ...walk, after: reached }, size)
      const slice = { $and: [walk.order.records, walk.range, idsBetween(reached, end)] }
      for await (const found of read(slice, SLICE_MS)) {
        reached = found._id
        yield { found, reached }
      }
      if (end === null) return
      reached = end
      yield { found: null, reached }
      size = Math.min(size * 10, MOST_RECORDS)
    } catch (error) {
      if (!hasExpired(error) || size <= LEAST_RECORDS) throw error
      size /= 10
    }
  }
}

/** The id of the last record of a slice. Null if there are fewer. The index alone answers this. */
async function findEnd(db: Db, { order, range, after }: Walk, size: number): Promise<ObjectId | null> {
  const [last] = await db
    .collection<EventDocument>(EVENTS)
    .find({ $and: [order.records, range, idsBetween(after, null)] }, { maxTimeMS: SLICE_MS, hint: order.hint })
    .project<Pick<EventDocument, '_id'>>({ _id: 1 })
    .sort({ _id: -1 })
    .skip(size - 1)
    .limit(1)
    .toArray()
  return last?._id ?? null
}

// Ids of other types are not ours.
function idsBetween(before: ObjectId | undefined, end: ObjectId | null): Filter<EventDocument> {
  return {
    _id: {
      $type: 'objectId',
      ...(before === undefined ? {} : { $lt: before }),
      ...(end === null ? {} : { $gte: end }),
    },
  }
}

/**
 * Counts the events that match a filter, newest first, until the time is up. `cut` says how far back; null if all were counted.
 * @throws MongoServerError if the index that it uses is not built yet
 */
export async function countEvents(db: Db, filter: EventFilter, budget: SearchBudget) {
  const endsAt = budget.now() + budget.ms
  const meant = await toMongoFilter(db, filter)
  const order = idOrderOf(filter)
  const group = { _id: null, events: { $sum: 1 }, oldest: { $min: '$_id' } }
  const count = (slice: Filter<EventDocument>, maxTimeMS: number) =>
    db
      .collection<EventDocument>(EVENTS)
      .aggregate<{ readonly _id: ObjectId; readonly events: number }>(
        [{ $match: { $and: [meant, slice] } }, { $group: group }, { $project: { _id: '$oldest', events: 1 } }],
        { maxTimeMS, hint: order.hint },
      )
  let events = 0
  for await (const { found, reached } of walkSlices(db, { order, range: idRangeOf(filter), after: undefined }, count)) {
    events += found?.events ?? 0
    // A count is about a whole slice, so the end of the slice follows.
    if (found === null && budget.now() >= endsAt) return { events, cut: { searchedTo: reached.getTimestamp() } }
  }
  return { events, cut: null }
}
