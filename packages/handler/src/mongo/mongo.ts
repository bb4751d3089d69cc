import type { ClientSession, Db, MongoClient } from 'mongodb'
import type { LaterTransaction, Store } from '../store.ts'
import { COLLECTIONS, keysOf } from './mongo-documents.ts'
import { runOnce } from './mongo-once.ts'
import { createMongoOutbox } from './mongo-outbox.ts'

/** The transaction that a function gets. Pass `session` to every operation, and await each before the next one. */
export interface MongoTransaction extends LaterTransaction {
  readonly db: Db
  readonly session: ClientSession
}

/** Where the collections are. */
export interface MongoOptions {
  /** The name of the database. Default: that of the connection string. */
  readonly database?: string
}

/** The clock and the randomness of a store. */
export interface MongoDeps {
  /** Milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number
  readonly random?: () => number
}

/**
 * Keeps keys, effects and messages in MongoDB, in a replica set or a sharded cluster. `npx @oncehook/handler init` creates the
 * collections. Expired keys are removed by MongoDB.
 */
export function mongo(
  client: MongoClient,
  { database }: MongoOptions = {},
  { now = Date.now, random = Math.random }: MongoDeps = {},
): Store<MongoTransaction> {
  const db = client.db(database)
  return {
    once: (task) => runOnce({ client, db, keys: keysOf(db), now, random }, task),
    outbox: createMongoOutbox(db, now),
    async ping() {
      const names = Object.values(COLLECTIONS)
      const found = await db.listCollections({ name: { $in: names } }, { nameOnly: true }).toArray()
      if (found.length < names.length) throw new Error('The collections are missing: run npx @oncehook/handler init')
    },
    removeExpired: async () => 0,
  }
}
