import type { Filter } from 'mongodb'
import {
  type EventDocument,
  type EventState,
  ORDER_INDEX,
  PENDING_INDEX,
  PROCESSING_INDEX,
  SETTLED_STATES,
} from '../../inbox/event-document.ts'
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

/**
 * The searches that find few records by an index. None if there is no such index. The index of orders contains settled
 * records only. So a search for an order searches these, and each of the other states with that state's own index,
 * which contains few records.
 */
export function indexedSearches({ orderId, eventId, state }: EventFilter): readonly PartialSearch[] {
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

// Each state has an index of the same name.
const LISTED_STATES = ['dead', 'closed', 'unhandled'] as const

/** The smallest index in the order of ids that contains all records which match. */
export function idOrderOf({ state }: EventFilter): IdOrder {
  const listed = LISTED_STATES.find((one) => one === state)
  return listed === undefined ? { records: {}, hint: { _id: 1 } } : { records: { state: listed }, hint: listed }
}
