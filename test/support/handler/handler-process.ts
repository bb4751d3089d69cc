import { setTimeout as sleep } from 'node:timers/promises'
import { createHandler, type HandlerEvent, type HandlerOptions, type Store } from '@oncehook/handler'
import { type MongoTransaction, mongo } from '@oncehook/handler/mongo'
import { type PostgresTransaction, postgres } from '@oncehook/handler/postgres'
import { MongoClient } from 'mongodb'
import pg from 'pg'

// A handler as a process, for tests that kill it: the kind of the database, its URL, the secret, and the port, which it prints.
const [kind, url = '', secret = '', port = '0'] = process.argv.slice(2)

/** A kill is more likely in the middle of a transaction if it takes some time. */
const pause = (): Promise<void> => sleep(Math.random() * 20)

interface Parts<Tx> {
  readonly store: Store<Tx>
  readonly apply: (event: HandlerEvent, tx: Tx) => Promise<void>
  readonly send: (key: string) => Promise<void>
}

async function serve<Tx extends { later(name: string): void }>({ store, apply, send }: Parts<Tx>): Promise<void> {
  const options: HandlerOptions<Tx> = {
    ...{ name: 'killed', store, secrets: secret },
    on: {
      async '*'(event, tx) {
        await apply(event, tx)
        tx.later('mail')
        await pause()
      },
    },
    later: {
      async mail({ key }) {
        await pause()
        await send(key)
      },
    },
    laterLimits: { timeoutMs: 1_000, pollMs: 100 },
  }
  process.stdout.write(`${await createHandler(options).listen(Number(port))}\n`)
}

async function servePostgres(): Promise<void> {
  const pool = new pg.Pool({ connectionString: url })
  await serve<PostgresTransaction<pg.PoolClient>>({
    store: postgres(pool),
    async apply({ key }, tx) {
      await tx.query('insert into effects (key) values ($1)', [key])
    },
    async send(key) {
      await pool.query('insert into sent (key) values ($1)', [key])
    },
  })
}

async function serveMongo(): Promise<void> {
  const client = await new MongoClient(url).connect()
  await serve<MongoTransaction>({
    store: mongo(client),
    async apply({ key }, { db, session }) {
      await db.collection('effects').insertOne({ key }, { session })
    },
    async send(key) {
      await client.db().collection('sent').insertOne({ key })
    },
  })
}

await (kind === 'postgres' ? servePostgres() : serveMongo())
