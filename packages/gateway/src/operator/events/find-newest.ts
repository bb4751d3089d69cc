import { type Db, type Filter, type FindOptions, ObjectId } from 'mongodb'
import { EVENTS, type EventDocument } from '../../inbox/event-document.ts'
import { hasExpired } from '../replays/replay-search.ts'
import { beforeCursor, type EventFilter, idRangeOf, toMongoFilter } from './event-filter.ts'
import { INDEXED_MS, idOrderOf, indexedSearches, type PartialSearch, searchesByIds } from './indexed-searches.ts'
import { LIST_PROJECTION } from './show-event.ts'
import { type SearchStep, walkSlices } from './walk-slices.ts'

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
      const records = await findIndexed(db, { meant, searches, after: reached }, reading)
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

interface IndexedPage {
  readonly meant: Filter<EventDocument>
  readonly searches: readonly PartialSearch[]
  readonly after: ObjectId | undefined
}

async function findIndexed(
  db: Db,
  { meant, searches, after }: IndexedPage,
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
  return (await Promise.all(parts)).flat().sort(byNewest).slice(0, most)
}

function byNewest(a: EventDocument, b: EventDocument): number {
  return Buffer.compare(b._id.id, a._id.id)
}
