import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { MongoClient } from 'mongodb'
import { setUpMongo } from '../../packages/handler/src/mongo/set-up-mongo.ts'
import { setUpPostgres } from '../../packages/handler/src/postgres/set-up-postgres.ts'
import { withProgress } from '../progress.ts'
import { installOnce } from '../python-tools/install-python-tool.ts'
import type { ExampleSurroundings } from '../start/run-system.ts'
import { requireTool } from '../tools/find-tool.ts'
import { openPostgres } from './open-postgres.ts'

/** What an example needs of its surroundings to prepare its database. */
export interface ExamplePreparation extends ExampleSurroundings {
  /** Its folder. */
  readonly folder: string
  readonly env: NodeJS.ProcessEnv
}

/** How an example is run. */
interface PreparedExample {
  /** The path of its program for Node.js, and the arguments. */
  readonly program: readonly string[]
  /** Its environment variables, besides `PORT` and `WEBHOOK_SECRET`. */
  readonly settings: Readonly<Record<string, string>>
  /** A command that shows what its events changed. */
  readonly look: string
}

/** One of the examples. */
export interface Example {
  /** The names of its events in `events/`, in the order in which they are suggested. */
  readonly events: readonly string[]
  /** Starts its database, and sets it up. */
  prepare(preparation: ExamplePreparation): Promise<PreparedExample>
}

const subscriptions: Example = {
  events: ['created', 'deleted', 'updated'],
  async prepare(preparation) {
    const url = await openPostgres(preparation)
    await setUpPostgres(url)
    return {
      program: [join(preparation.folder, 'src/main.ts')],
      settings: { DATABASE_URL: url },
      look: `psql '${url}' --command 'select * from subscriptions' --command 'select * from subscription_changes'`,
    }
  },
}

const fastapi: Example = {
  events: ['first', 'second'],
  async prepare({ folder, env, data, say }) {
    const packages = { name: 'python-fastapi', requirements: join(folder, 'requirements.txt') }
    const database = join(data.path, 'credits.sqlite')
    const read = `import sqlite3; print(*sqlite3.connect('${database}').execute('select * from credits'), sep='\\n')`
    return {
      program: [RUN_PROGRAM, 'python3', '-m', 'uvicorn', 'main:app', '--app-dir', `${folder}/`, ...UVICORN],
      settings: { PYTHONPATH: await installOnce(packages, env, say), DATABASE: database },
      look: `python3 -c "${read}"`,
    }
  },
}

const go: Example = {
  events: ['first', 'second'],
  async prepare(preparation) {
    const { folder, env, data, say } = preparation
    await requireTool('go')
    const url = await openPostgres(preparation)
    const program = join(data.path, 'examples/go-postgres/balances')
    const building = promisify(execFile)('go', ['build', '-o', program, '.'], { cwd: folder, env })
    await withProgress(say, 'Building the example', building)
    return {
      program: [RUN_PROGRAM, program],
      // Our own server has no TLS, which its library demands by default.
      settings: { DATABASE_URL: url, ...(env.DATABASE_URL ? {} : { PGSSLMODE: 'disable' }) },
      look: `psql '${url}' --command 'select * from balances'`,
    }
  },
}

const orders: Example = {
  events: ['paid', 'again', 'too-little'],
  async prepare({ folder, mongoUri }) {
    // It may name several hosts, which no URL can.
    const url = mongoUri.replace(/^(mongodb(?:\+srv)?:\/\/[^/?]+)\/?[^?]*/, '$1/shop')
    await setUpMongo(url)
    await createOpenOrder(url)
    return {
      program: [join(folder, 'src/main.ts')],
      settings: { MONGODB_URI: url },
      look: `node examples/shop-orders-mongo/show-orders.mjs '${url}'`,
    }
  },
}

/** The order that the events of the example pay. */
async function createOpenOrder(url: string): Promise<void> {
  await using client = new MongoClient(url)
  const order = { email: 'ann@shop.example', total: 4_900, currency: 'eur', status: 'open' }
  const orders = client.db().collection<{ _id: string } & typeof order>('orders')
  await orders.updateOne({ _id: 'order-1001' }, { $setOnInsert: order }, { upsert: true })
}

const RUN_PROGRAM = join(import.meta.dirname, '../start/run-program.mjs')
const UVICORN = ['--no-access-log', '--log-level', 'warning', '--timeout-graceful-shutdown', '5']

/** The examples, by the names of their folders. */
export const EXAMPLES: ReadonlyMap<string, Example> = new Map([
  ['subscriptions-postgres', subscriptions],
  ['shop-orders-mongo', orders],
  ['python-fastapi', fastapi],
  ['go-postgres', go],
])
