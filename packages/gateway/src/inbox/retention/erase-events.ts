import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import { DUE_INDEX, EVENTS, SETTLED_STATES } from '@oncehook/queue/task'
import { Binary, type Db, type Filter } from 'mongodb'
import { BODIES, type BodyDocument, bodyIdOf, IS_ERASED } from '../bodies.ts'
import { BODY_INDEX, type EventDocument, ORDER_INDEX, ORDER_STATES } from '../event-document.ts'
import { IS_COMPLETE, keyOnlyRecord } from '../key-only-record.ts'

export type EventsToErase =
  | { readonly orderIds: readonly string[] }
  | { readonly provider: string; readonly eventId: string }

/** An event that holds more than its key, or whose key leads to a stored body. */
export type ErasableEvent = Pick<EventDocument, '_id' | 'state' | 'provider' | 'eventId' | 'bodyHash'>

export const MOST_EVENTS = 500

const SEARCH_MS = 4_000

/**
 * Finds events to erase, at most `MOST_EVENTS`. An event of which only the key is left is one of them if its body is
 * stored, for another event of its delivery for example. Its order leads to it no longer.
 */
export async function findErasableEvents(db: Db, meant: EventsToErase): Promise<ErasableEvent[]> {
  if (!('orderIds' in meant)) return findByKey(db, meant)
  if (meant.orderIds.length === 0) return []
  const orderId = { $in: [...meant.orderIds] }
  // As in an operator's list.
  const parts = await Promise.all([
    find(db, { orderId, state: { $in: [...ORDER_STATES] }, ...IS_COMPLETE }, ORDER_INDEX),
    find(db, { orderId, state: 'processing', ...IS_COMPLETE }, DUE_INDEX),
  ])
  return parts.flat().slice(0, MOST_EVENTS)
}

async function findByKey(db: Db, key: Pick<EventDocument, 'provider' | 'eventId'>): Promise<ErasableEvent[]> {
  const named = { provider: { $eq: key.provider }, eventId: { $eq: key.eventId } }
  const [complete, keys] = await Promise.all([
    find(db, { ...named, ...IS_COMPLETE }),
    find(db, { ...named, $nor: [IS_COMPLETE] }),
  ])
  const stored = await findStored(db, bodyIdsOf(keys))
  return [...complete, ...keys.filter((one) => stored.has(bodyIdOf(one)))].slice(0, MOST_EVENTS)
}

function find(db: Db, filter: Filter<EventDocument>, hint?: string): Promise<ErasableEvent[]> {
  return db
    .collection<EventDocument>(EVENTS)
    .find(filter, { ...(hint === undefined ? {} : { hint }), maxTimeMS: SEARCH_MS, readConcern: 'local' })
    .project<ErasableEvent>({ state: 1, provider: 1, eventId: 1, bodyHash: 1 })
    .limit(MOST_EVENTS)
    .toArray()
}

async function findStored(db: Db, ids: readonly string[]): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set()
  const found = await db
    .collection<BodyDocument>(BODIES)
    .find({ _id: { $in: [...ids] }, $nor: [IS_ERASED] }, { maxTimeMS: SEARCH_MS, readConcern: 'local' })
    .project<Pick<BodyDocument, '_id'>>({ _id: 1 })
    .toArray()
  return new Set(found.map(({ _id }) => _id))
}

export function isSettled({ state }: Pick<EventDocument, 'state'>): boolean {
  return SETTLED_STATES.some((settled) => settled === state)
}

/** Whether a record that is not settled shares a body with these events: its handler would never get it. */
export async function isBodyAwaited(db: Db, events: readonly ErasableEvent[]): Promise<boolean> {
  const bodyIds = bodyIdsOf(events)
  if (bodyIds.length === 0) return false
  const filter = { bodyId: { $in: bodyIds }, state: { $nin: [...SETTLED_STATES] } }
  // Without the index this would read all records. Instead it fails.
  const options = { hint: BODY_INDEX, maxTimeMS: SEARCH_MS, readConcern: 'local', projection: { _id: 1 } } as const
  return (await db.collection<EventDocument>(EVENTS).findOne(filter, options)) !== null
}

/** From the hashes, not from `bodyId`: the retention removes that for each event separately, and the body later. */
function bodyIdsOf(events: readonly ErasableEvent[]): string[] {
  return [...new Set(events.map(bodyIdOf))]
}

/**
 * Removes everything from settled events except their keys and hashes. A body that other events of its delivery share
 * is removed for them too: ask `isBodyAwaited` first. It is safe to repeat. Resolves to the number of erased events:
 * fewer if one is no longer settled.
 */
export async function eraseEvents(db: Db, events: readonly ErasableEvent[]): Promise<number> {
  const bodyIds = bodyIdsOf(events)
  // Bodies first: the record leads to the body if this is repeated.
  const emptied = [{ $set: { raw: { $literal: new Binary(Buffer.alloc(0)) } } }, { $unset: ['checkAt', 'sealed'] }]
  // An empty body stays, even where none was stored: a redelivery would store a missing one again.
  await bulkUpdate(db, { update: BODIES, updates: bodyIds.map((_id) => ({ q: { _id }, u: emptied, upsert: true })) })
  if (events.length === 0) return 0
  const q = { _id: { $in: events.map(({ _id }) => _id) }, state: { $in: [...SETTLED_STATES] } }
  const u = [{ $replaceWith: keyOnlyRecord('erased') }]
  return bulkUpdate(db, { update: EVENTS, updates: [{ q, u, multi: true, hint: BY_ID }] })
}

const BY_ID = { _id: 1 }
