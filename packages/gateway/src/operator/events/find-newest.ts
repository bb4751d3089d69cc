import type { Db, Filter } from 'mongodb'
import {
  EVENTS,
  type EventDocument,
  type EventState,
  ORDER_INDEX,
  PENDING_INDEX,
  PROCESSING_INDEX,
  SETTLED_STATES,
} from '../../inbox/event-document.ts'
import { SEARCH_MS } from '../operator-trpc.ts'
import { beforeCursor, type EventFilter, toMongoFilter } from './event-filter.ts'
import { LIST_PROJECTION } from './show-event.ts'

/** A page of events: at most `limit`, older than `after`. */
export interface PageOfEvents {
  readonly filter: EventFilter
  readonly after: string | undefined
  readonly limit: number
}

/**
 * Finds the newest events that match a filter, newest first.
 * @throws MongoServerError with code 50 after 5 s, and if the index that it uses is not built yet
 */
export async function findNewest(db: Db, page: PageOfEvents): Promise<EventDocument[]> {
  const meant = { $and: [await toMongoFilter(db, page.filter), beforeCursor(page.after)] }
  const parts = await Promise.all(searchesOf(page.filter).map((search) => findPart(db, { meant, ...search }, page)))
  return parts.flat().sort(byNewest).slice(0, page.limit)
}

/**
 * The index of orders contains settled records only. So a search for an order searches these, and each of the other
 * states with that state's own index, which contains few records.
 */
function searchesOf({ orderId, eventId, state }: EventFilter): readonly PartialSearch[] {
  // The index of event ids is the best.
  if (eventId !== undefined) return [{ states: {} }]
  if (orderId === undefined) return [{ states: {}, ...(isListed(state) ? { hint: state } : {}) }]
  if (state !== undefined) return [{ states: {}, hint: indexOfOrder(state) }]
  const open = (['pending', 'processing'] as const).map((one) => ({ states: { state: one }, hint: indexOfOrder(one) }))
  return [{ states: { state: { $in: [...SETTLED_STATES] } }, hint: ORDER_INDEX }, ...open]
}

/** The index that finds the events of an order in a state. */
function indexOfOrder(state: EventState): string {
  if (state === 'pending') return PENDING_INDEX
  return state === 'processing' ? PROCESSING_INDEX : ORDER_INDEX
}

/**
 * A part of a search. The hint names an index: while it is being built, the server refuses the search instead of
 * reading every record.
 */
interface PartialSearch {
  readonly states: Filter<EventDocument>
  readonly hint?: string
}

// Each state has an index of the same name.
const LISTED_STATES = ['dead', 'closed', 'unhandled'] as const

function isListed(state: EventState | undefined): state is (typeof LISTED_STATES)[number] {
  return (LISTED_STATES as readonly (EventState | undefined)[]).includes(state)
}

interface Part extends PartialSearch {
  readonly meant: Filter<EventDocument>
}

function findPart(db: Db, { meant, states, hint }: Part, { limit }: PageOfEvents): Promise<EventDocument[]> {
  const options = { projection: LIST_PROJECTION, maxTimeMS: SEARCH_MS, ...(hint === undefined ? {} : { hint }) }
  return db
    .collection<EventDocument>(EVENTS)
    .find({ ...meant, ...states }, options)
    .sort({ _id: -1 })
    .limit(limit)
    .toArray()
}

function byNewest(a: EventDocument, b: EventDocument): number {
  return Buffer.compare(b._id.id, a._id.id)
}
