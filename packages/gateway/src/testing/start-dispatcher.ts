import { setTimeout as sleep } from 'node:timers/promises'
import { unavailable } from '@oncehook/kernel/http/error-codes'
import type { AppError } from '@oncehook/kernel/http/errors'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import type { TestDatabase } from '@oncehook/kernel/testing/test-database'
import { Dispatcher } from '@oncehook/queue/dispatch/dispatcher'
import { createAllowance } from '@oncehook/queue/dispatch/pace'
import { SuspectsLane } from '@oncehook/queue/dispatch/suspects-lane'
import { NO_PAUSES } from '@oncehook/queue/testing/no-pauses'
import { expect, vi } from 'vitest'
import { FULFILMENT_CODES, sendPayments } from '../handlers/fulfilment/send-payments.ts'
import { type EventDocument, FULFILMENT } from '../inbox/event-document.ts'
import { createFakeFulfilment, type FakeFulfilment } from './fake-fulfilment.ts'
import { type OpenInbox, openInbox, sampleArrival } from './open-inbox.ts'

const HOUR_MS = 3_600_000
/** The limits of the dispatchers under test: short waits, so that retries come soon. */
const limits = { baseMs: 20, capMs: 100, maxAgeMs: HOUR_MS, ofCodes: FULFILMENT_CODES }

/** Waits until an assertion passes: `expect.poll` does not support concurrent tests. */
export function until(look: () => Promise<void> | void): Promise<void> {
  return vi.waitFor(look, { timeout: 120_000, interval: 20 })
}

/** One gateway's inbox and dispatcher in front of a fake fulfilment. */
export interface RunningDispatcher extends AsyncDisposable {
  readonly open: OpenInbox
  readonly dispatcher: Dispatcher
  readonly fake: FakeFulfilment
  readonly lines: Record<string, unknown>[]
  /** Claims that were lost before they were settled. */
  readonly lost: () => number
  /** The number of events that this dispatcher has settled for good. */
  readonly settled: () => number
  /** Stores events, each with its own order. */
  record(...ids: string[]): Promise<void>
}

/** What a test sets of a dispatcher: the rest has defaults. */
interface Options {
  readonly fake?: FakeFulfilment
  readonly batchSize?: number
  readonly concurrency?: number
  readonly leaseMs?: number
  readonly maxCrashes?: number
}

/** Starts a dispatcher with its own inbox on a test database. Disposing of it stops the dispatcher. */
export async function startDispatcher(database: TestDatabase, options: Options = {}): Promise<RunningDispatcher> {
  const { fake = createFakeFulfilment(), batchSize = 100, concurrency = 2, leaseMs = 30_000 } = options
  const { maxCrashes = 8 } = options
  await using resources = new AsyncDisposableStack()
  const open = resources.use(
    await openInbox(database, {
      paused: () => NO_PAUSES.current,
      takerOf: () => ({
        admits: () => dispatcher.admits(),
        lastsMs: leaseMs,
        take: (claim) => dispatcher.take(claim),
        miss: () => dispatcher.miss(),
        expect: () => dispatcher.expect(),
      }),
    }),
  )
  const { logger, lines } = memoryLogger()
  let lost = 0
  let settled = 0
  const now = (): number => performance.now()
  const dispatcher: Dispatcher = new Dispatcher({
    handler: FULFILMENT,
    claims: open.claims({ lastsMs: leaseMs, maxCrashes, paused: () => NO_PAUSES.current }),
    ...{ pauses: NO_PAUSES, random: Math.random, logger, now, databaseNow: open.databaseNow },
    ...{ batchSize, concurrency, leaseMs, callMs: 0 },
    allowance: createAllowance({ ratePerSecond: null, isPaused: () => false, now }),
    send: (claims) =>
      sendPayments(
        { applyEvents: fake.applyEvents, limits, random: Math.random, databaseNow: open.databaseNow },
        claims,
      ),
    onSettled({ settlement }) {
      if (settlement.state !== 'pending') settled += 1
    },
    onLost(count) {
      lost += count
    },
  })
  const lane = new SuspectsLane({
    ...{ dispatchers: () => [dispatcher], suspected: async () => [FULFILMENT], random: Math.random, now },
    onError: (error) => logger.warn({ error }, 'dispatch.database-failed'),
  })
  dispatcher.start()
  lane.start()
  resources.defer(() => dispatcher.stop())
  resources.defer(() => lane.stop())
  const owned = resources.move()
  return {
    ...{ open, dispatcher, fake, lines, lost: () => lost, settled: () => settled },
    async record(...ids) {
      for (const id of ids) if (!fake.orders.has(`order of ${id}`)) fake.orders.set(`order of ${id}`, 1)
      await Promise.all(ids.map((id) => open.inbox.record(arrivalOf(id))))
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** The error of a call during which fulfilment dies. */
export function connectionReset(): AppError {
  return unavailable({}, { cause: Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }) })
}

/** An authentic delivery of an event that pays its own order. */
export function arrivalOf(id: string) {
  const event = { id, type: 'payment.succeeded', objectId: `pay of ${id}`, facts: { orderId: `order of ${id}` } }
  return sampleArrival(id, { event })
}

/** The ids of a number of events. */
export function many(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `e${index}`)
}

/** Waits until a number of events is in a state. */
export function untilState({ open }: RunningDispatcher, state: EventDocument['state'], count: number): Promise<void> {
  return until(async () => expect(await open.events.countDocuments({ state })).toBe(count))
}

// More than gateways hold and send at once, and few enough that an event waits behind them for a second or two.
const MOST_OPEN = 150

/** Stores new events at each gateway, batch after batch, until it is disposed of. Many of them are always open. */
export function overload(gateways: readonly RunningDispatcher[]) {
  let isOn = true
  let recorded = 0
  const open = (): number => recorded - gateways.reduce((sum, { settled }) => sum + settled(), 0)
  const sending = gateways.map(async (gateway, index) => {
    for (let count = 0; isOn; count += 1) {
      if (open() < MOST_OPEN) {
        const ids = Array.from({ length: 10 }, (_, nth) => `load ${index} ${count} ${nth}`)
        recorded += ids.length
        await gateway.record(...ids)
      }
      await sleep(20)
    }
  })
  return {
    isOn: () => isOn,
    async [Symbol.asyncDispose]() {
      isOn = false
      await Promise.all(sending)
    },
  }
}
