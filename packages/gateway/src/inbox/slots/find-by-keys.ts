import type { Db, Document, FindOptions } from 'mongodb'
import { EVENTS, type EventDocument } from '../event-document.ts'
import type { IsSharded } from './name-records.ts'
import { type RecordKey, slotOf } from './slot.ts'

/** How records are found by their keys, and which of their fields are read. */
export interface KeySearch extends FindOptions {
  readonly projection: Document
}

/** A key as text, unique among all keys. */
export function nameOfKey({ provider, eventId, handler }: RecordKey): string {
  const name = `${provider}\n${eventId}`
  return handler === undefined ? name : `${name}\n${handler}`
}

/**
 * Finds the records of some keys, and perhaps other tasks of their events: `handler` distinguishes them. Behind a mongos,
 * the search goes only to the shards of their slots. Only if some are not found there, all shards are asked for them,
 * because records of release 0.1.0 have no slot.
 */
export async function findByKeys<T extends RecordKey = EventDocument>(
  { db, isSharded }: { readonly db: Db; readonly isSharded: IsSharded },
  keys: readonly RecordKey[],
  search: KeySearch,
): Promise<T[]> {
  const find = ($or: readonly Document[]): Promise<T[]> =>
    $or.length === 0
      ? Promise.resolve([])
      : db
          .collection(EVENTS)
          .find<T>({ $or: [...$or] }, search)
          .toArray()
  if (isSharded?.() !== true) return find(keys.map(({ provider, eventId }) => ({ provider, eventId })))
  const found = await find(keys.map(nameBySlot))
  const names = new Set(found.map(nameOfKey))
  const missing = keys.filter((key) => !names.has(nameOfKey(key)))
  return [...found, ...(await find(missing.map(({ provider, eventId }) => ({ provider, eventId }))))]
}

/** The filter for the slot of some records and their key, whatever their handlers. */
function nameBySlot({ provider, eventId }: RecordKey): Document {
  return { slot: slotOf({ provider, eventId }), provider, eventId }
}

/** The filter that names one record with a slot by its key. */
export function nameByKey(key: RecordKey): Document {
  return { ...nameBySlot(key), handler: key.handler ?? null }
}
