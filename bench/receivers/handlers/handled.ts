import { randomBytes } from 'node:crypto'
import type { EventDocument } from '@oncehook/gateway/inbox/event-document'
import { EVENTS } from '@oncehook/queue/task'
import type { Db } from 'mongodb'
import { setUpPostgres } from '../../../packages/handler/src/postgres/set-up-postgres.ts'
import { stablePort } from '../../../scripts/ports/stable-port.ts'
import { endChild, forkWorker } from '../../fork-worker.ts'
import { describeSystem } from '../oncehook/describe-system.ts'
import { startAcceptingFor } from '../oncehook/oncehook.ts'
import { startService } from '../oncehook/service.ts'
import type { Receiver, Setup, StartReceiver } from '../receiver.ts'
import { findStored, waitUntilSettled } from '../stored-events.ts'
import { startPaymentsDatabase } from './payments-database.ts'

/** Starts the gateway alone, with this number of handlers that want every event. All are unavailable, so every task waits. */
export function acceptingFor(count: number): StartReceiver {
  return async (setup, run) => {
    const port = await stablePort()
    const names = Array.from({ length: count }, (_, index) => `handler-${index + 1}`)
    return startAcceptingFor(setup, run, Object.fromEntries(names.map((name) => [name, describeHandler(port)])))
  }
}

const ANSWERING = import.meta.resolve('./answering-process.ts')

/** Starts the gateway and a handler that only answers. */
export const startAnswered: StartReceiver = (setup, run) => start(setup, run, ANSWERING)

// As many events in a call as there are by `trpc` without a setting.
const BATCH = 50

/** The same in batches. */
export const startAnsweredInBatches: StartReceiver = (setup, run) => start(setup, run, ANSWERING, { batch: BATCH })

/** The same beside a handler that never answers, and one that does not exist. */
export const startAnsweredBesideOthers: StartReceiver = async (setup, run) => {
  const deadPort = await stablePort()
  const dead = describeHandler(deadPort)
  const beside = (port: number) => ({ slow: describeHandler(port, newSecret(), '/slow'), dead })
  return start(setup, run, ANSWERING, { beside })
}

/** Starts the gateway and a service with @oncehook/handler that stores each payment in PostgreSQL. */
export const startHandledInPostgres: StartReceiver = (setup, run) => startInPostgres(setup, run)

/** The same in batches. */
export const startHandledInBatches: StartReceiver = (setup, run) => startInPostgres(setup, run, { batch: BATCH })

async function startInPostgres(setup: Setup, run: string, around: Surroundings = {}): Promise<Receiver> {
  await using stack = new AsyncDisposableStack()
  const payments = stack.use(await startPaymentsDatabase())
  await setUpPostgres(payments.url)
  const env = { HANDLER_DATABASE_URL: payments.url }
  const receiver = stack.use(await start(setup, run, import.meta.resolve('./postgres-process.ts'), { env, ...around }))
  const kept = stack.move()
  return {
    ...receiver,
    keptOf: async (eventIds) => payments.paidOnce([...(await receiver.keptOf(eventIds))]),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

/** A secret of Standard Webhooks. */
function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`
}

/** The description of a handler that wants every event. */
function describeHandler(port: number, secret = newSecret(), path = '/webhooks'): object {
  const secrets = [{ id: 'bench', value: secret }]
  return { https: `http://127.0.0.1:${port}${path}`, secrets, events: [{ types: ['*'] }] }
}

interface Surroundings {
  readonly env?: NodeJS.ProcessEnv
  /** Events in a call. Default: one. */
  readonly batch?: number
  /** Other handlers of the same events, given the port of the program. */
  readonly beside?: (port: number) => Readonly<Record<string, object>>
}

const NAME = 'bench'
const DONE = { handler: NAME, state: 'done' } as const

async function start(setup: Setup, run: string, program: string, around: Surroundings = {}): Promise<Receiver> {
  await using stack = new AsyncDisposableStack()
  const secret = newSecret()
  const env = { ...process.env, NODE_ENV: 'production', HANDLER_SECRET: secret, ...around.env }
  const { child, greeting } = await forkWorker(program, { env })
  stack.defer(() => endChild(child))
  const { port } = greeting as { readonly port: number }
  const { batch = 1 } = around
  const handlers = { [NAME]: { ...describeHandler(port, secret), batch }, ...around.beside?.(port) }
  const system = await describeSystem(setup, run, handlers)
  const db = setup.database(system.gatewayDb)
  stack.defer(async () => void (await db.dropDatabase()))
  const gateway = stack.use(await startService(system.gateway))
  const kept = stack.move()
  return {
    url: system.url,
    receiverPid: gateway.pid,
    fulfilmentPid: child.pid,
    settled: () => waitUntilSettled(db, { handler: NAME }),
    keptOf: async (eventIds) => new Set((await findStored(db, DONE, eventIds)).map(({ eventId }) => eventId)),
    wholeWayMs: (eventIds) => readWholeWay(db, eventIds),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

/** For each of the events: the milliseconds from its arrival until it was settled. */
async function readWholeWay(db: Db, eventIds: readonly string[]): Promise<number[]> {
  const filter = { ...DONE, eventId: { $in: [...eventIds] } }
  const times = { receivedAt: 1, settledAt: 1 }
  const found = db.collection<EventDocument>(EVENTS).find(filter).project<Record<keyof typeof times, Date>>(times)
  return found.map(({ receivedAt, settledAt }) => settledAt.getTime() - receivedAt.getTime()).toArray()
}
