import { type ChildProcess, fork } from 'node:child_process'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { nextMessage } from '../../next-message.ts'
import { endChild } from '../end-child.ts'
import { findStored, type StoredEvent } from '../find-stored.ts'
import type { Receiver, Setup, StartReceiver } from '../receiver.ts'

/** Which of the two receivers is meant, and where it listens; 0: any free port. */
export interface NaiveRun {
  readonly database: string
  readonly looksUp: boolean
  readonly port: number
}

/** Starts the receiver's process, which sends its address when it listens. */
export function spawnNaive(setup: Setup, { database, looksUp, port }: NaiveRun): ChildProcess {
  return fork(fileURLToPath(import.meta.resolve('./naive-process.ts')), {
    execArgv: [...setup.nodeFlags],
    env: {
      ...process.env,
      NODE_ENV: 'production',
      NAIVE_MONGODB_URI: setup.mongoUri,
      NAIVE_DB: database,
      NAIVE_SECRET: setup.secret,
      NAIVE_PORT: String(port),
      ...(looksUp ? { NAIVE_LOOKS_UP: 'yes' } : {}),
    },
  })
}

/** Returns the ids that the receiver has stored. */
export async function keptByNaive(setup: Setup, database: string, eventIds: readonly string[]): Promise<Set<string>> {
  const events = setup.database(database).collection<StoredEvent>('events')
  return new Set((await findStored(events, {}, eventIds)).map(({ eventId }) => eventId))
}

/** Starts a simple receiver: Express, the provider's library, and one awaited insert per delivery. */
export const startNaive: StartReceiver = (setup, run) => start(setup, { run, looksUp: false })

/** Starts the same receiver with a common precaution: it looks up each event before it inserts it. */
export const startNaiveLookingUp: StartReceiver = (setup, run) => start(setup, { run, looksUp: true })

async function start(
  setup: Setup,
  { run, looksUp }: { readonly run: string; readonly looksUp: boolean },
): Promise<Receiver> {
  const database = `naive_${run}`
  const child = spawnNaive(setup, { database, looksUp, port: 0 })
  const { port } = (await nextMessage(child)) as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/webhooks`,
    receiverPid: child.pid ?? 0,
    keptOf: (eventIds) => keptByNaive(setup, database, eventIds),
    async [Symbol.asyncDispose]() {
      await endChild(child)
      await setup.database(database).dropDatabase()
    },
  }
}
