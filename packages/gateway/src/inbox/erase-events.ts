import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import { Binary, type Db, type Filter } from 'mongodb'
import { BODIES } from './bodies.ts'
import { DUE_INDEX, EVENTS, type EventDocument, PROCESSING_INDEX, SETTLED_STATES } from './event-document.ts'
import { ERASED, IS_COMPLETE } from './key-only-record.ts'

/** Which events are meant: those of orders, or one by the id of its provider. */
export type EventsToErase =
  | { readonly orderIds: readonly string[] }
  | { readonly provider: string; readonly eventId: string }

/** An event that holds more than its key. */
export type ErasableEvent = Pick<EventDocument, '_id' | 'state' | 'bodyId'>

/** The most events of one call. */
export const MOST_EVENTS = 500

const SEARCH_MS = 4_000

/** Finds events that hold more than their key, `MOST_EVENTS` at most. */
export async function findErasableEvents(db: Db, meant: EventsToErase): Promise<ErasableEvent[]> {
  if (!('orderIds' in meant))
    return find(db, { provider: { $eq: meant.provider }, eventId: { $eq: meant.eventId } }, KEY)
  if (meant.orderIds.length === 0) return []
  const orderId = { $in: [...meant.orderIds] }
  // As in a list of operators: what is not settled is looked for in the indexes of its states, which hold few records.
  const parts = await Promise.all([
    find(db, { orderId, state: { $in: [...SETTLED_STATES] } }, 'order'),
    find(db, { orderId, state: 'pending' }, DUE_INDEX),
    find(db, { orderId, state: 'processing' }, PROCESSING_INDEX),
  ])
  return parts.flat().slice(0, MOST_EVENTS)
}

const KEY = 'provider_event'

function find(db: Db, filter: Filter<EventDocument>, hint: string): Promise<ErasableEvent[]> {
  return db
    .collection<EventDocument>(EVENTS)
    .find({ ...filter, ...IS_COMPLETE }, { hint, maxTimeMS: SEARCH_MS, readConcern: 'local' })
    .project<ErasableEvent>({ state: 1, bodyId: 1 })
    .limit(MOST_EVENTS)
    .toArray()
}

/** Whether an event has its verdict. */
export function isSettled({ state }: Pick<EventDocument, 'state'>): boolean {
  return SETTLED_STATES.some((settled) => settled === state)
}

/**
 * Leaves nothing of settled events but their keys and hashes. A body that other events of its delivery share is gone for them
 * too. Again does no harm. Resolves to how many were erased: fewer where one is not settled any more.
 */
export async function eraseEvents(db: Db, events: readonly ErasableEvent[]): Promise<number> {
  const bodyIds = [...new Set(events.flatMap(({ bodyId }) => (bodyId === undefined ? [] : [bodyId])))]
  // First: the record is what leads to the body when this is done again.
  const emptied = [{ $set: { raw: { $literal: new Binary(Buffer.alloc(0)) } } }, { $unset: ['checkAt', 'sealed'] }]
  // An empty body stays: a repeated delivery leaves it as it is, and would store a missing one again.
  await bulkUpdate(db, { update: BODIES, updates: bodyIds.map((_id) => ({ q: { _id }, u: emptied, upsert: true })) })
  if (events.length === 0) return 0
  const q = { _id: { $in: events.map(({ _id }) => _id) }, state: { $in: [...SETTLED_STATES] } }
  return bulkUpdate(db, { update: EVENTS, updates: [{ q, u: [{ $replaceWith: ERASED }], multi: true, hint: BY_ID }] })
}

const BY_ID = { _id: 1 }
