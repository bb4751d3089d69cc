// The hand-written receivers that Oncehook is compared with. Each is a program of its own, with the defaults of its libraries.
import { join } from 'node:path'
import type { Db } from 'mongodb'
import { endChild, forkWorker } from '../../fork-worker.ts'
import { startPaymentsDatabase } from '../handlers/payments-database.ts'
import { insertOrders } from '../orders.ts'
import type { Receiver, Setup, StartReceiver } from '../receiver.ts'
import { findStored } from '../stored-events.ts'

/** Express, the provider's library, and one awaited insert per delivery. */
export const startNaive: StartReceiver = async (setup, run) => {
  const db = setup.database(`naive_${run}`)
  const program = await startProgram(import.meta.resolve('./naive-process.ts'), setup, { NAIVE_DB: db.databaseName })
  return {
    ...program,
    keptOf: async (eventIds) => new Set((await findStored(db, {}, eventIds)).map(({ eventId }) => eventId)),
    [Symbol.asyncDispose]: () => endAndDrop(program, db),
  }
}

/** `node:http` and the signature. It stores nothing, so all that it has answered counts as kept. */
export const startBare: StartReceiver = async (setup) => {
  const program = await startProgram(import.meta.resolve('./bare-process.ts'), setup, {})
  return { ...program, keptOf: async (eventIds) => new Set(eventIds) }
}

/** Like naive, but it also pays the order, writes the receipt and marks the event, before it answers. */
export const startNaivePaying: StartReceiver = async (setup, run) => {
  const db = setup.database(`naive_paying_${run}`)
  const receipts = join(setup.folder, `receipts-${db.databaseName}.jsonl`)
  const env = { NAIVE_DB: db.databaseName, NAIVE_RECEIPTS: receipts }
  const program = await startProgram(import.meta.resolve('./naive-paying-process.ts'), setup, env)
  return {
    ...program,
    prepare: (orderPrefix, count) => insertOrders(db, orderPrefix, count),
    /** The ids whose events are done and whose orders were paid by the payment that the event reports. */
    async keptOf(eventIds) {
      const payments: string[] = await db.collection('orders').distinct('payment.id', { status: 'paid' })
      const done = { state: 'done', 'event.data.object.id': { $in: payments } }
      return new Set((await findStored(db, done, eventIds)).map(({ eventId }) => eventId))
    },
    [Symbol.asyncDispose]: () => endAndDrop(program, db),
  }
}

/** Express, the provider's library, and one transaction of PostgreSQL per delivery. */
export const startExpressPostgres: StartReceiver = async (setup) => {
  await using stack = new AsyncDisposableStack()
  const payments = stack.use(await startPaymentsDatabase())
  const env = { NAIVE_DATABASE_URL: payments.url }
  const program = stack.use(await startProgram(import.meta.resolve('./express-postgres-process.ts'), setup, env))
  const kept = stack.move()
  return {
    ...program,
    keptOf: (eventIds) => payments.paidOnce(eventIds),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

type Program = Pick<Receiver, 'url' | 'receiverPid' | typeof Symbol.asyncDispose>

async function startProgram(url: string, { mongoUri, secret }: Setup, env: NodeJS.ProcessEnv): Promise<Program> {
  const own = { NODE_ENV: 'production', NAIVE_MONGODB_URI: mongoUri, NAIVE_SECRET: secret, ...env }
  const { child, greeting } = await forkWorker(url, { env: { ...process.env, ...own } })
  const { port } = greeting as { readonly port: number }
  return {
    url: `http://127.0.0.1:${port}/webhooks`,
    receiverPid: child.pid ?? 0,
    [Symbol.asyncDispose]: () => endChild(child),
  }
}

async function endAndDrop(program: Program, db: Db): Promise<void> {
  await program[Symbol.asyncDispose]()
  await db.dropDatabase()
}
