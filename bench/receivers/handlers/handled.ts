import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { EVENTS, type EventDocument } from '@oncehook/gateway/inbox/event-document'
import type { Db } from 'mongodb'
import { setUpPostgres } from '../../../packages/handler/src/postgres/set-up-postgres.ts'
import { stablePort } from '../../../scripts/ports/stable-port.ts'
import { nextMessage } from '../../next-message.ts'
import { endChild } from '../end-child.ts'
import { findStored, type StoredEvent } from '../find-stored.ts'
import { describeSystem } from '../oncehook/describe-system.ts'
import { startService } from '../oncehook/service.ts'
import { waitUntilSettled } from '../oncehook/wait-until-settled.ts'
import type { Receiver, Setup, StartReceiver } from '../receiver.ts'
import { describeHandler, newSecret } from './accepting-for.ts'
import { startPaymentsDatabase } from './payments-database.ts'

/** A program that takes the gateway's calls. */
interface HandlerProgram {
  readonly url: string
  readonly env: Readonly<Record<string, string>>
}

const ANSWERING: HandlerProgram = { url: import.meta.resolve('./answering-process.ts'), env: {} }

/** Starts the gateway and a handler that only answers. */
export const startAnswered: StartReceiver = (setup, run) => start(setup, { run, program: ANSWERING })

/** The same beside a handler that never answers, and one that does not exist. */
export const startAnsweredBesideOthers: StartReceiver = async (setup, run) => {
  const deadPort = await stablePort()
  const beside = (port: number) => ({
    slow: { ...describeHandler(port, newSecret()), https: `http://127.0.0.1:${port}/slow` },
    dead: describeHandler(deadPort, newSecret()),
  })
  return start(setup, { run, program: ANSWERING, beside })
}

/** Starts the gateway and a service with @oncehook/handler that stores each payment in PostgreSQL. */
export const startHandledInPostgres: StartReceiver = async (setup, run) => {
  await using stack = new AsyncDisposableStack()
  const payments = stack.use(await startPaymentsDatabase())
  await setUpPostgres(payments.url)
  const program = { url: import.meta.resolve('./postgres-process.ts'), env: { HANDLER_DATABASE_URL: payments.url } }
  const receiver = stack.use(await start(setup, { run, program }))
  const kept = stack.move()
  return {
    ...receiver,
    keptOf: async (eventIds) => payments.paidOnce([...(await receiver.keptOf(eventIds))]),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

interface HandledRun {
  readonly run: string
  readonly program: HandlerProgram
  /** Other handlers of the same events, given the port of the program. */
  readonly beside?: (port: number) => Readonly<Record<string, object>>
}

const NAME = 'bench'
const DONE = { handler: NAME, state: 'done' } as const

async function start(setup: Setup, { run, program, beside = () => ({}) }: HandledRun): Promise<Receiver> {
  await using stack = new AsyncDisposableStack()
  const secret = newSecret()
  const child = fork(fileURLToPath(program.url), {
    env: { ...process.env, NODE_ENV: 'production', HANDLER_SECRET: secret, ...program.env },
  })
  stack.defer(() => endChild(child))
  const { port } = (await nextMessage(child)) as { readonly port: number }
  const system = await describeSystem(setup, run, { [NAME]: describeHandler(port, secret), ...beside(port) })
  const db = setup.database(system.gatewayDb)
  stack.defer(async () => void (await db.dropDatabase()))
  const gateway = stack.use(await startService(system.gateway))
  const kept = stack.move()
  return {
    url: system.url,
    receiverPid: gateway.pid,
    fulfilmentPid: child.pid,
    settled: () => waitUntilSettled(db, { handler: NAME }),
    async keptOf(eventIds) {
      const done = await findStored(db.collection<StoredEvent>(EVENTS), DONE as object, eventIds)
      return new Set(done.map(({ eventId }) => eventId))
    },
    wholeWayMs: (eventIds) => readWholeWay(db, eventIds),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

/** For each of the events: the milliseconds from its arrival until it was settled. */
async function readWholeWay(db: Db, eventIds: readonly string[]): Promise<number[]> {
  const filter = { ...DONE, eventId: { $in: [...eventIds] } }
  const found = db.collection<EventDocument>(EVENTS).find(filter).project<Times>({ receivedAt: 1, settledAt: 1 })
  return found.map(({ receivedAt, settledAt }) => settledAt.getTime() - receivedAt.getTime()).toArray()
}

interface Times {
  readonly receivedAt: Date
  readonly settledAt: Date
}
