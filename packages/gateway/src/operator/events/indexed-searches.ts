import type { Db, Filter } from 'mongodb'
import {
  DUE_INDEX,
  EVENTS,
  type EventDocument,
  type EventState,
  KEY_INDEX,
  ORDER_INDEX,
  PENDING_INDEX,
  SETTLED_STATES,
} from '../../inbox/event-document.ts'
import { hasExpired } from '../replays/replay-search.ts'
import type { EventFilter } from './event-filter.ts'
import type { IdOrder } from './walk-slices.ts'

/**
 * A part of a search. The hint names an index: while it is being built, the server refuses the search instead of
 * reading every record.
 */
export interface PartialSearch {
  readonly states: Filter<EventDocument>
  readonly hint?: string
}

/** Milliseconds for a part. If it takes longer, it finds more than expected, and slices are faster. */
export const INDEXED_MS = 1_000

const FEW = 2_000
const COUNT_MS = 500

/**
 * The searches that find few records through an index. Empty if there is no such index. There is one for a provider
 * with few records, which may be far back, behind the records of all others.
 */
export async function indexedSearches(db: Db, filter: EventFilter): Promise<readonly PartialSearch[]> {
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
 * The searches by an id or for few open records. The index of orders contains only settled records. A search for an
 * order therefore uses it, and for each other state the index of that state, which contains few records.
 */
export function searchesByIds({ orderId, eventId, state }: EventFilter): readonly PartialSearch[] {
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
  return state === 'processing' ? DUE_INDEX : ORDER_INDEX
}

// Each state has an index of the same name.
const LISTED_STATES = ['dead', 'closed', 'unhandled'] as const

/** The smallest index in the order of ids that contains all records which match. */
export function idOrderOf({ state }: EventFilter): IdOrder {
  const listed = LISTED_STATES.find((one) => one === state)
  return listed === undefined ? { records: {}, hint: { _id: 1 } } : { records: { state: listed }, hint: listed }
}
