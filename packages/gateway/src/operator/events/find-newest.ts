import { type Db, type Filter, ObjectId } from 'mongodb'
import {
  EVENTS,
  type EventDocument,
  type EventState,
  ORDER_INDEX,
  PENDING_INDEX,
  PROCESSING_INDEX,
  SETTLED_STATES,
} from '../../inbox/event-document.ts'
import { hasExpired } from '../replays/replay-search.ts'
import { beforeCursor, type EventFilter, idRangeOf, toMongoFilter } from './event-filter.ts'
import { LIST_PROJECTION } from './show-event.ts'
import { type IdOrder, type SearchStep, walkSlices } from './walk-slices.ts'

/** A page of events: at most `limit`, older than `after`. */
export interface PageOfEvents {
  readonly filter: EventFilter
  readonly after: string | undefined
  readonly limit: number
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
 * page is full or the time is over. Each call makes some progress.
 * @throws MongoServerError if the index that it uses is not built yet
 */
export async function findNewest(db: Db, page: PageOfEvents, budget: SearchBudget): Promise<FoundEvents> {
  const endsAt = budget.now() + budget.ms
  const records: EventDocument[] = []
  for await (const { found, reached } of searchSteps(db, page)) {
    if (found !== null) records.push(found)
    if (records.length > page.limit) {
      const shown = records.slice(0, page.limit)
      return { records: shown, next: String(shown.at(-1)?._id), cut: null }
    }
    const isFull = records.length === page.limit
    const isOver = budget.now() >= endsAt
    if (isOver || (isFull && found === null)) {
      return { records, next: String(reached), cut: isFull ? null : { searchedTo: reached.getTimestamp() } }
    }
  }
  return { records, next: null, cut: null }
}

async function* searchSteps(db: Db, { filter, after, limit }: PageOfEvents): AsyncGenerator<SearchStep<EventDocument>> {
  const meant = await toMongoFilter(db, filter)
  const most = limit + 1
  let reached = after === undefined ? undefined : new ObjectId(after)
  try {
    const searches = indexedSearches(filter)
    for (let isMore = searches.length > 0; isMore; ) {
      const found = await findIndexed(db, { meant, searches, after: reached, most })
      for (const record of found) {
        reached = record._id
        yield { found: record, reached }
      }
      isMore = found.length === most
      if (!isMore) return
    }
  } catch (error) {
    if (!hasExpired(error)) throw error
  }
  const order = idOrderOf(filter)
  const options = { projection: LIST_PROJECTION, hint: order.hint }
  yield* walkSlices(db, { order, range: idRangeOf(filter), after: reached }, (slice, maxTimeMS) =>
    db
      .collection<EventDocument>(EVENTS)
      .find({ $and: [meant, slice] }, { ...options, maxTimeMS })
      .sort({ _id: -1 })
      .limit(most),
  )
}

/**
 * A part of a search. The hint names an index: while it is being built, the server refuses the search instead of
 * reading every record.
 */
interface PartialSearch {
  readonly states: Filter<EventDocument>
  readonly hint?: string
}

/**
 * The searches that find few records by an index. None if there is no such index. The index of orders contains settled
 * records only. So a search for an order searches these, and each of the other states with that state's own index,
 * which contains few records.
 */
function indexedSearches({ orderId, eventId, state }: EventFilter): readonly PartialSearch[] {
  // The index of event ids is the best.
  if (eventId !== undefined) return [{ states: {} }]
  if (orderId !== undefined && state !== undefined) return [{ states: {}, hint: indexOfOrder(state) }]
  if (state === 'pending' || state === 'processing') return [{ states: {}, hint: indexOfOrder(state) }]
  if (orderId === undefined) return []
  const open = (['pending', 'processing'] as const).map((one) => ({ states: { state: one }, hint: indexOfOrder(one) }))
  return [{ states: { state: { $in: [...SETTLED_STATES] } }, hint: ORDER_INDEX }, ...open]
}

/** The index that finds the events of an order in a state. */
function indexOfOrder(state: EventState): string {
  if (state === 'pending') return PENDING_INDEX
  return state === 'processing' ? PROCESSING_INDEX : ORDER_INDEX
}

interface IndexedPage {
  readonly meant: Filter<EventDocument>
  readonly searches: readonly PartialSearch[]
  readonly after: ObjectId | undefined
  readonly most: number
}

// If there are more of them than expected, slices are faster.
const INDEXED_MS = 1_000

async function findIndexed(db: Db, { meant, searches, after, most }: IndexedPage): Promise<EventDocument[]> {
  const events = db.collection<EventDocument>(EVENTS)
  const parts = searches.map(({ states, hint }) =>
    events
      .find(
        { $and: [meant, beforeCursor(after), states] },
        { projection: LIST_PROJECTION, maxTimeMS: INDEXED_MS, ...(hint === undefined ? {} : { hint }) },
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

// Each state has an index of the same name.
const LISTED_STATES = ['dead', 'closed', 'unhandled'] as const

/** The smallest index in the order of ids that contains all that match. */
function idOrderOf({ state }: EventFilter): IdOrder {
  const listed = LISTED_STATES.find((one) => one === state)
  return listed === undefined ? { records: {}, hint: { _id: 1 } } : { records: { state: listed }, hint: listed }
}
