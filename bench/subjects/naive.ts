import { type ChildProcess, fork } from 'node:child_process'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { nextMessage } from '../next-message.ts'
import { endChild } from './end-child.ts'
import { findStored, type StoredEvent } from './find-stored.ts'
import type { Laboratory, StartSubject, Subject } from './subject.ts'

/** Which of the two receivers is meant, and where it listens; 0: any free port. */
export interface NaiveRun {
  readonly database: string
  readonly looksUp: boolean
  readonly port: number
}

/** Begins the receiver's process, which sends its address when it listens. */
export function spawnNaive(laboratory: Laboratory, { database, looksUp, port }: NaiveRun): ChildProcess {
  return fork(fileURLToPath(import.meta.resolve('./naive-process.ts')), {
    execArgv: [...laboratory.nodeFlags],
    env: {
      ...process.env,
      NODE_ENV: 'production',
      NAIVE_MONGODB_URI: laboratory.mongoUri,
      NAIVE_DB: database,
      NAIVE_SECRET: laboratory.secret,
      NAIVE_PORT: String(port),
      ...(looksUp ? { NAIVE_LOOKS_UP: 'yes' } : {}),
    },
  })
}

/** Those of the ids that the receiver has stored. */
export async function keptByNaive(
  laboratory: Laboratory,
  database: string,
  eventIds: readonly string[],
): Promise<Set<string>> {
  const events = laboratory.database(database).collection<StoredEvent>('events')
  return new Set((await findStored(events, {}, eventIds)).map(({ eventId }) => eventId))
}

/** Starts the receiver that one would write oneself: Express, the provider's library, one awaited insert a delivery. */
export const startNaive: StartSubject = (laboratory, run) => start(laboratory, { run, looksUp: false })

/** Starts the same receiver, careful in the usual way: it looks whether the event is there before it inserts it. */
export const startNaiveLookingUp: StartSubject = (laboratory, run) => start(laboratory, { run, looksUp: true })

async function start(
  laboratory: Laboratory,
  { run, looksUp }: { readonly run: string; readonly looksUp: boolean },
): Promise<Subject> {
  const database = `naive_${run}`
  const child = spawnNaive(laboratory, { database, looksUp, port: 0 })
  const { port } = (await nextMessage(child)) as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/webhooks`,
    receiverPid: child.pid ?? 0,
    keptOf: (eventIds) => keptByNaive(laboratory, database, eventIds),
    async [Symbol.asyncDispose]() {
      await endChild(child)
      await laboratory.database(database).dropDatabase()
    },
  }
}
