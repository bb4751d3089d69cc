import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import { Binary, type Db, type Filter } from 'mongodb'
import { BODIES } from '../bodies.ts'
import {
  BODY_INDEX,
  DUE_INDEX,
  EVENTS,
  type EventDocument,
  PROCESSING_INDEX,
  SETTLED_STATES,
} from '../event-document.ts'
import { IS_COMPLETE } from '../key-only-record.ts'
import { keyOnly } from '../transitions.ts'

/** Which events to erase: the events of orders, or one by its provider's id. */
export type EventsToErase =
  | { readonly orderIds: readonly string[] }
  | { readonly provider: string; readonly eventId: string }

/** An event that holds more than its key. */
export type ErasableEvent = Pick<EventDocument, '_id' | 'state' | 'bodyId'>

/** The maximum number of events in one call. */
export const MOST_EVENTS = 500

const SEARCH_MS = 4_000

/** Finds events that hold more than their key, at most `MOST_EVENTS`. */
export async function findErasableEvents(db: Db, meant: EventsToErase): Promise<ErasableEvent[]> {
  if (!('orderIds' in meant)) return find(db, { provider: { $eq: meant.provider }, eventId: { $eq: meant.eventId } })
  if (meant.orderIds.length === 0) return []
  const orderId = { $in: [...meant.orderIds] }
  // As in an operator's list: events that are not settled are found with the indexes of their states, which hold few
  // records.
  const parts = await Promise.all([
    find(db, { orderId, state: { $in: [...SETTLED_STATES] } }, 'order'),
    find(db, { orderId, state: 'pending' }, DUE_INDEX),
    find(db, { orderId, state: 'processing' }, PROCESSING_INDEX),
  ])
  return parts.flat().slice(0, MOST_EVENTS)
}

/** Without a hint, the search uses the unique index, which has another name and key if there are handlers. */
function find(db: Db, filter: Filter<EventDocument>, hint?: string): Promise<ErasableEvent[]> {
  return db
    .collection<EventDocument>(EVENTS)
    .find(
      { ...filter, ...IS_COMPLETE },
      { ...(hint === undefined ? {} : { hint }), maxTimeMS: SEARCH_MS, readConcern: 'local' },
    )
    .project<ErasableEvent>({ state: 1, bodyId: 1 })
    .limit(MOST_EVENTS)
    .toArray()
}

/** Whether an event is settled. */
export function isSettled({ state }: Pick<EventDocument, 'state'>): boolean {
  return SETTLED_STATES.some((settled) => settled === state)
}

/**
 * Whether a record that is not settled shares a body with these events. It can be one of another event of the same
 * delivery: without the body, its handler would never get it.
 */
export async function isBodyAwaited(db: Db, events: readonly ErasableEvent[]): Promise<boolean> {
  const bodyIds = bodyIdsOf(events)
  if (bodyIds.length === 0) return false
  const filter = { bodyId: { $in: bodyIds }, state: { $nin: [...SETTLED_STATES] } }
  // Without the index this would read all records. Instead it fails.
  const options = { hint: BODY_INDEX, maxTimeMS: SEARCH_MS, readConcern: 'local', projection: { _id: 1 } } as const
  return (await db.collection<EventDocument>(EVENTS).findOne(filter, options)) !== null
}

function bodyIdsOf(events: readonly ErasableEvent[]): string[] {
  return [...new Set(events.flatMap(({ bodyId }) => bodyId ?? []))]
}

/**
 * Removes everything from settled events except their keys and hashes. A body that other events of its delivery share
 * is removed for them too: ask `isBodyAwaited` first. It is safe to repeat. Resolves to the number of erased events: fewer if one is no longer
 * settled.
 */
export async function eraseEvents(db: Db, events: readonly ErasableEvent[]): Promise<number> {
  const bodyIds = bodyIdsOf(events)
  // Bodies first: the record leads to the body if this is repeated.
  const emptied = [{ $set: { raw: { $literal: new Binary(Buffer.alloc(0)) } } }, { $unset: ['checkAt', 'sealed'] }]
  // An empty body stays: a redelivery would store a missing one again.
  await bulkUpdate(db, { update: BODIES, updates: bodyIds.map((_id) => ({ q: { _id }, u: emptied, upsert: true })) })
  if (events.length === 0) return 0
  const q = { _id: { $in: events.map(({ _id }) => _id) }, state: { $in: [...SETTLED_STATES] } }
  const u = [{ $replaceWith: keyOnly('erased') }]
  return bulkUpdate(db, { update: EVENTS, updates: [{ q, u, multi: true, hint: BY_ID }] })
}

const BY_ID = { _id: 1 }
