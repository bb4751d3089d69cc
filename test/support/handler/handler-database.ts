import { MongoClient } from 'mongodb'
import pg from 'pg'
import { setUpMongo } from '../../../packages/handler/src/mongo/set-up-mongo.ts'
import { setUpPostgres } from '../../../packages/handler/src/postgres/set-up-postgres.ts'
import { findMongod } from '../../../scripts/mongod/find-mongod.ts'
import { SMALL_SERVER } from '../../../scripts/mongod/mongod-arguments.ts'
import { startThrowawayMongod } from '../../../scripts/mongod/throwaway-mongod.ts'
import { startPostgres } from '../postgres/postgres-server.ts'

/** The database of a handler that runs as a process. */
export interface HandlerDatabase extends AsyncDisposable {
  readonly kind: 'postgres' | 'mongo'
  readonly url: string
  /** The keys in a table or collection, one for each row. */
  read(table: 'effects' | 'sent' | 'oncehook_outbox'): Promise<readonly string[]>
}

/** Starts PostgreSQL and prepares a database for a handler. */
export async function preparePostgres(programs: string): Promise<HandlerDatabase> {
  const server = await startPostgres(programs)
  const { url } = server
  await setUpPostgres(url)
  const pool = new pg.Pool({ connectionString: url })
  await pool.query('create table effects (key text not null); create table sent (key text not null)')
  return {
    ...{ kind: 'postgres', url },
    async read(table) {
      const { rows } = await pool.query<{ key: string }>(`select key from ${table}`)
      return rows.map(({ key }) => key)
    },
    async [Symbol.asyncDispose]() {
      await pool.end()
      await server[Symbol.asyncDispose]()
    },
  }
}

// MongoDB ends the transactions of a process that was killed only after this time. Its default is 60 s.
const TRANSACTION_SECONDS = 2

/** Starts a MongoDB of three nodes and prepares a database for a handler. */
export async function prepareMongo(): Promise<HandlerDatabase> {
  const lifetime = ['--setParameter', `transactionLifetimeLimitSeconds=${TRANSACTION_SECONDS}`]
  const found = await findMongod({ env: process.env, say: console.error })
  const server = await startThrowawayMongod(found, { flags: [...SMALL_SERVER, ...lifetime], nodes: 3 })
  // `URL` takes no list of hosts.
  const url = server.uri.replace('/?', '/handler?')
  await setUpMongo(url)
  const client = await new MongoClient(url).connect()
  const db = client.db()
  await Promise.all(['effects', 'sent'].map((table) => db.createCollection(table)))
  return {
    ...{ kind: 'mongo', url },
    async read(table) {
      const found = await db.collection(table).find().toArray()
      return found.map(({ key }) => String(key))
    },
    async [Symbol.asyncDispose]() {
      await client.close()
      await server[Symbol.asyncDispose]()
    },
  }
}
