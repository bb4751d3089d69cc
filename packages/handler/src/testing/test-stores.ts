import { randomBytes } from 'node:crypto'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import pg from 'pg'
import { findTool } from '../../../../scripts/tools/find-tool.ts'
import { startPostgres } from '../../../../test/support/postgres/postgres-server.ts'
import { type MongoTransaction, mongo } from '../mongo/mongo.ts'
import { setUpMongo } from '../mongo/set-up-mongo.ts'
import { type PostgresTransaction, postgres } from '../postgres/postgres.ts'
import { setUpPostgres } from '../postgres/set-up-postgres.ts'
import type { LaterTransaction, Store } from '../store.ts'

/** A store on a new database of a real server. The effect of an event is a row with its key; nothing makes a row unique. */
export interface StoreUnderTest<Tx extends LaterTransaction = LaterTransaction> extends AsyncDisposable {
  readonly kind: 'postgres' | 'mongo'
  readonly url: string
  readonly store: Store<Tx>
  /** Causes the effect of an event in a transaction. */
  apply(tx: Tx, key: string): Promise<void>
  /** How many effects each event has had. */
  effects(): Promise<Record<string, number>>
  outcomes(): Promise<Record<string, unknown>>
  /** The stored messages: name, attempt, whether it is dead, and why it failed. */
  messages(): Promise<readonly { key: string; attempt: number; dead: boolean; reason: string | null }[]>
  /** Makes all messages due that are not dead. */
  makeDue(): Promise<void>
  expireKeys(): Promise<void>
}

/** Opens a store on PostgreSQL; null if no server is installed. */
export async function openPostgres(): Promise<StoreUnderTest<PostgresTransaction<pg.PoolClient>> | null> {
  const programs = await findTool('postgresql')
  if (programs === null) return null
  const server = await startPostgres(programs)
  const url = await server.createDatabase(`test_${randomBytes(6).toString('hex')}`)
  await setUpPostgres(url)
  const pool = new pg.Pool({ connectionString: url, max: 20 })
  const store = postgres(pool)
  await pool.query('create table effects (key text not null)')
  const pairs = async (text: string): Promise<Record<string, never>> =>
    Object.fromEntries((await pool.query({ text, rowMode: 'array' })).rows)
  return {
    ...{ kind: 'postgres', url, store },
    async apply(tx, key) {
      await tx.query('insert into effects (key) values ($1)', [key])
    },
    effects: () => pairs('select key, count(*)::int from effects group by key'),
    outcomes: () => pairs('select key, outcome from oncehook_keys'),
    async messages() {
      const text = 'select key, attempt, dead_at is not null as dead, reason from oncehook_outbox order by key'
      return (await pool.query(text)).rows
    },
    async makeDue() {
      await pool.query('update oncehook_outbox set due_at = now() where dead_at is null')
    },
    async expireKeys() {
      await pool.query('update oncehook_keys set expires_at = now()')
    },
    async [Symbol.asyncDispose]() {
      await pool.end()
      await server[Symbol.asyncDispose]()
    },
  }
}

export async function openMongo(env: NodeJS.ProcessEnv): Promise<StoreUnderTest<MongoTransaction>> {
  const { client, db, name, uri, ...database } = await testDatabase(env)
  const address = new URL(uri.reveal())
  address.pathname = name
  await setUpMongo(address.href)
  await db.createCollection('effects')
  const store = mongo(client, { database: name })
  return {
    ...{ kind: 'mongo', url: address.href, store },
    async apply({ session }, key) {
      await db.collection('effects').insertOne({ key }, { session })
    },
    async effects() {
      const found = await db.collection('effects').find().toArray()
      const counts = Map.groupBy(found, ({ key }) => String(key))
      return Object.fromEntries(Array.from(counts, ([key, all]) => [key, all.length]))
    },
    async outcomes() {
      const found = await db.collection('oncehook_keys').find().toArray()
      return Object.fromEntries(found.map(({ _id, outcome }) => [Object(_id).key, outcome]))
    },
    async messages() {
      const found = await db.collection('oncehook_outbox').find().sort({ key: 1 }).toArray()
      return found.map(({ key, attempt, dead, reason = null }) => ({ key, attempt, dead, reason }))
    },
    async makeDue() {
      await db.collection('oncehook_outbox').updateMany({ dead: false }, { $set: { dueAt: new Date() } })
    },
    async expireKeys() {
      await db.collection('oncehook_keys').updateMany({}, { $set: { expiresAt: new Date() } })
    },
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  }
}
