import { KEY_INDEX, SLOT_KEY_INDEX, TASK_KEY_INDEX } from '@oncehook/gateway/inbox/event-document'
import type { Db, Document, IndexDescriptionInfo } from 'mongodb'
import { CommandFailure } from '../exit-code.ts'
import { type Cluster, COLLECTIONS } from './cluster.ts'
import { isFilled } from './fill-slots.ts'

/** The events, as far as their sharding depends on it. */
interface EventsState {
  readonly exists: boolean
  /** What the collection requires of new documents: slots, something else, or nothing. */
  readonly requires: 'slots' | 'other' | 'nothing'
  /** When a gateway of 0.1.0 stored an event, if that was a short time ago. */
  readonly lastWithoutSlot: Date | null
  /** Whether every record has a slot. */
  readonly isFilled: boolean
  readonly hasSlotKey: boolean
  /** Whether it has tasks of handlers, which `SLOT_KEY_INDEX` does not distinguish. */
  readonly hasTasks: boolean
  /** The index of providers and ids: unique, for searches only, or missing. */
  readonly keyIndex: 'unique' | 'plain' | 'missing'
  readonly shardKey: Document | null
  /** The slots at which chunks begin. */
  readonly boundaries: readonly number[]
}

/** The orders or the reservations of payments, as far as their sharding depends on it. */
interface CollectionState {
  readonly shardKey: Document | null
}

/** A sharded cluster. */
export interface ClusterState {
  readonly shards: readonly string[]
  readonly events: EventsState
  readonly orders: CollectionState & { readonly hasPaymentIndex: boolean }
  readonly payments: CollectionState
}

/** The rule that every new record has a slot. */
export const REQUIRES_SLOTS = { slot: { $type: 'number' } }

const PAYMENT_INDEX = 'payment_pays_one_order'
const RECENT_MS = 600_000
const RECENT_RECORDS = 1_000

/** Reads the state of a cluster. It changes nothing. Null if the server is no mongos: then nothing can be sharded. */
export async function observeCluster(cluster: Cluster): Promise<ClusterState | null> {
  const { admin, gateway, fulfilment } = cluster
  const hello = await admin.command({ hello: 1 })
  if (hello.msg !== 'isdbgrid') return null
  const { shards } = await admin.command({ listShards: 1 })
  const orderIndexes = await readIndexes(fulfilment, COLLECTIONS.orders)
  return {
    shards: shards.map(({ _id }: Document) => String(_id)),
    events: await observeEvents(cluster, gateway, hello.localTime),
    orders: {
      ...(await readSharding(cluster, `${fulfilment.databaseName}.${COLLECTIONS.orders}`)),
      hasPaymentIndex: orderIndexes.some(({ name }) => name === PAYMENT_INDEX),
    },
    payments: await readSharding(cluster, `${fulfilment.databaseName}.${COLLECTIONS.payments}`),
  }
}

async function observeEvents(cluster: Cluster, db: Db, now: unknown): Promise<EventsState> {
  const [collection] = await db.listCollections({ name: COLLECTIONS.events }).toArray()
  const indexes = await readIndexes(db, COLLECTIONS.events)
  const { shardKey, boundaries } = await readSharding(cluster, `${db.databaseName}.${COLLECTIONS.events}`)
  const options: Document = collection !== undefined && 'options' in collection ? (collection.options ?? {}) : {}
  const keyIndex = indexes.find(({ name }) => name === KEY_INDEX.name)
  return {
    exists: collection !== undefined,
    requires: requirementOf(options),
    lastWithoutSlot: await lastWithoutSlot(db, now),
    isFilled: await isFilled(db),
    hasSlotKey: indexes.some(({ name, unique }) => name === SLOT_KEY_INDEX.name && unique === true),
    hasTasks: indexes.some(({ name }) => name === TASK_KEY_INDEX.name),
    keyIndex: keyIndex === undefined ? 'missing' : keyIndex.unique === true ? 'unique' : 'plain',
    shardKey,
    boundaries,
  }
}

function requirementOf({ validator }: Document): EventsState['requires'] {
  if (validator === undefined || Object.keys(validator).length === 0) return 'nothing'
  return JSON.stringify(validator) === JSON.stringify(REQUIRES_SLOTS) ? 'slots' : 'other'
}

async function readIndexes(db: Db, name: string): Promise<IndexDescriptionInfo[]> {
  const [collection] = await db.listCollections({ name }, { nameOnly: true }).toArray()
  return collection === undefined ? [] : db.collection(name).indexes()
}

/** The newest records are enough: a gateway of 0.1.0 that stores nothing cannot be seen. */
async function lastWithoutSlot(db: Db, now: unknown): Promise<Date | null> {
  if (!(now instanceof Date)) throw new CommandFailure('The server does not say what time it is')
  const newest = await db
    .collection(COLLECTIONS.events)
    .find({}, { projection: { slot: 1, receivedAt: 1 }, sort: { _id: -1 }, limit: RECENT_RECORDS })
    .toArray()
  const since = now.getTime() - RECENT_MS
  const times = newest
    .filter(({ slot }) => typeof slot !== 'number')
    .flatMap(({ receivedAt }) => (receivedAt instanceof Date && receivedAt.getTime() > since ? [receivedAt] : []))
  return times[0] ?? null
}

async function readSharding(
  { config }: Cluster,
  namespace: string,
): Promise<{ readonly shardKey: Document | null; readonly boundaries: readonly number[] }> {
  const found = await config.collection<{ _id: string }>('collections').findOne({ _id: namespace })
  const key: unknown = found === null ? undefined : Reflect.get(found, 'key')
  // A collection that is not sharded is listed too if it was moved to another shard.
  const isWhole = found !== null && Reflect.get(found, 'unsplittable') === true
  if (found === null || isWhole || typeof key !== 'object' || key === null) return { shardKey: null, boundaries: [] }
  const uuid: unknown = Reflect.get(found, 'uuid')
  const chunks = await config
    .collection('chunks')
    .find({ uuid }, { projection: { min: 1 } })
    .toArray()
  return { shardKey: key, boundaries: chunks.map(({ min }) => min?.slot).filter((slot) => typeof slot === 'number') }
}
