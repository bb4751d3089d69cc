import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createOrders } from '../support/load/mixed-load.ts'
import { WebhookSource } from '../support/load/webhook-source.ts'
import { adminCommand, startReplicaSet } from '../support/mongod/mongod-under-test.ts'
import { closingCheck } from '../support/stack/closing-check.ts'
import type { ApiOrder } from '../support/stack/records.ts'
import { paymentOf, type Stack, startStack } from '../support/stack/stack.ts'
import { until } from '../support/until.ts'
import { createFakeClock, type FakeClock, removeFakeClockRemains } from './fake-clock.ts'

const HOUR_S = 3_600
const ORDERS = 20
const LATE_ORDERS = 5
const PACE = { perSecond: 40, parallel: 10 }
const MODEST = { perSecond: 20, parallel: 5, repetitionsPerSecond: 5 }
const CONTENT = { customerId: 'cus_late', currency: 'EUR', items: [{ sku: 's', quantity: 1, unitAmount: 2_000 }] }
// Claims and retries of these stacks last seconds; an hour means that something waited for the wrong clock.
const SETTLED_WITHIN_MS = 60_000

/** The clock of a service, as its answers show it. */
const clockAt = (port: number) => async (): Promise<Date> => {
  const { headers } = await fetch(`http://127.0.0.1:${port}/livez`)
  return new Date(headers.get('date') ?? '')
}

/** Some orders that are not made yet, with the shape of one that is. */
function lateOrders([sample]: readonly ApiOrder[]): ApiOrder[] {
  if (sample === undefined) throw new Error('There is no order')
  return Array.from({ length: LATE_ORDERS }, () => ({ ...sample, id: `ord_late_${randomUUID()}`, amountDue: 2_000 }))
}

/** Waits until each of these events was deferred because its order is unknown. */
async function untilDeferred(stack: Stack, orders: readonly ApiOrder[]): Promise<void> {
  const deferred = { orderId: { $in: orders.map(({ id }) => id) }, 'attempts.code': 'order_unknown' }
  await until(
    () => stack.events.countDocuments(deferred),
    (count) => count === orders.length,
  )
}

/** The lowest number of failures of any of these events; null if one of them is dead. */
async function countFailures(stack: Stack, orders: readonly ApiOrder[]): Promise<number | null> {
  const ofOrders = { orderId: { $in: orders.map(({ id }) => id) } }
  const members = { failing: 1, state: 1 }
  const found = await stack.events
    .find(ofOrders)
    .project<{ failing?: { times: number }; state: string }>(members)
    .toArray()
  return found.some(({ state }) => state === 'dead')
    ? null
    : Math.min(...found.map(({ failing }) => failing?.times ?? 0))
}

/** Waits until each of these events has failed twice more. The wrong clock may have claimed the first attempt. */
async function untilTriedAgain(stack: Stack, orders: readonly ApiOrder[]): Promise<void> {
  const before = (await countFailures(stack, orders)) ?? 0
  const failures = await until(
    () => countFailures(stack, orders),
    (count) => count === null || count >= before + 2,
  )
  expect(failures, 'failures of events that are still alive').not.toBeNull()
}

async function putOrder(stack: Stack, { id }: ApiOrder): Promise<number> {
  const content = { method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify(CONTENT) }
  return (await stack.orders.send(`/${id}`, content)).status
}

/** Makes the late orders, now that all clocks are right, and waits until everything is settled. */
async function settleInTime(stack: Stack, late: readonly ApiOrder[]): Promise<void> {
  const rightAt = performance.now()
  for (const order of late) {
    await until(
      () => putOrder(stack, order),
      (status) => status < 300,
    )
  }
  await stack.untilSettled()
  expect(await stack.events.countDocuments({ state: 'dead' }), 'dead events').toBe(0)
  expect(performance.now() - rightAt, 'milliseconds from the right clock until all is settled').toBeLessThan(
    SETTLED_WITHIN_MS,
  )
}

/** What has a clock that jumps, and how to read the clock. */
interface Jumping {
  readonly stack: Stack
  readonly source: WebhookSource
  readonly clock: FakeClock
  readonly read: () => Promise<Date>
}

/**
 * Sets the clock an hour ahead and then an hour behind, each time while events wait for their orders. The action during
 * the wrong time returns a wait for the time after it. After that wait, everything settles in time.
 */
async function jump(
  { stack, source, clock, read }: Jumping,
  whileWrong: (orders: readonly ApiOrder[], seconds: number) => Promise<() => Promise<void>>,
): Promise<void> {
  for (const seconds of [HOUR_S, -HOUR_S]) {
    const orders = await createOrders(stack, ORDERS)
    const late = lateOrders(orders)
    for (const order of late) source.add(paymentOf(order))
    await source.run()
    await untilDeferred(stack, late)
    await clock.set(seconds, read)
    const finish = await whileWrong(orders, seconds)
    await clock.set(0, read)
    await finish()
    await settleInTime(stack, late)
  }
}

/** How many calls of fulfilment have failed as a whole. */
async function failedCalls(stack: Stack): Promise<number> {
  return stack.events.countDocuments({ 'attempts.code': 'unavailable' })
}

describe('a clock that is an hour ahead, and one that is an hour behind,', () => {
  it('FP-40: of the gateway refuses signatures while it is wrong; repeated, they are all accepted and settled', async (context) => {
    await using clock = await createFakeClock(context)
    await using stack = await startStack({ gateway: clock.env })
    await using source = new WebhookSource(stack.provider('acme'), MODEST)
    // This provider signs no time, so its deliveries are accepted with any clock.
    await using timeless = new WebhookSource(stack.provider('shop'), MODEST)
    const read = clockAt(stack.place.adminPort)
    const struck: Record<string, number> = {}
    await jump({ stack, source, clock, read }, async (orders, seconds) => {
      const [half, others] = [orders.slice(0, ORDERS / 2), orders.slice(ORDERS / 2)]
      for (const order of half) source.add(paymentOf(order))
      for (const order of others) timeless.add(paymentOf(order))
      await timeless.run()
      const refused = (): number => source.log.flatMap(({ answers }) => answers).filter((one) => one === 401).length
      const before = refused()
      const finished = source.run()
      struck[`401 at ${seconds} s`] = (await until(refused, (count) => count >= before + half.length)) - before
      expect(await putOrder(stack, orders[0] ?? expect.unreachable()), 'an order, its token from a wrong clock').toBe(
        503,
      )
      return () => finished
    })
    struck['a call of fulfilment that failed'] = await failedCalls(stack)
    const log = [...source.log, ...timeless.log]
    expect(await closingCheck(stack, log, { struck, volume: 2 * (ORDERS + LATE_ORDERS) })).toEqual([])
  })

  it('FP-40: of the database delays events at most while it is wrong', async (context) => {
    await using clock = await createFakeClock(context)
    await using resources = new AsyncDisposableStack()
    const pids: number[] = []
    resources.defer(async () => {
      for (const pid of pids) await removeFakeClockRemains(pid)
    })
    // The other nodes have the real time: only the clock of the primary is wrong.
    const set = resources.use(await startReplicaSet(3, { electionsByHand: true, environments: [clock.env] }))
    const [wrong = expect.unreachable()] = set.nodes
    pids.push(wrong.pid)
    await set.elect([wrong])
    const stack = resources.use(await startStack({ mongoUri: set.uri }))
    const source = resources.use(new WebhookSource(stack.provider('acme'), PACE))
    const read = async (): Promise<Date> => (await adminCommand(wrong.port, { hello: 1 })).localTime as Date
    const struck: Record<string, number> = {}
    for (const seconds of [HOUR_S, -HOUR_S]) {
      const orders = await createOrders(stack, ORDERS)
      const late = lateOrders(orders)
      await clock.set(seconds, read)
      for (const order of late) source.add(paymentOf(order))
      await source.run()
      await untilDeferred(stack, late)
      stack.fulfilment.pause()
      for (const order of orders) source.add(paymentOf(order))
      await source.run()
      struck[`an event in hand at ${seconds} s`] = await stack.events.countDocuments({ state: 'processing' })
      // A gateway that dies leaves claims that end in an hour; one that lives has claims that ended long ago.
      if (seconds > 0) await stack.gateway.kill('SIGKILL')
      await clock.set(0, read)
      stack.fulfilment.resume()
      if (seconds > 0) await stack.gateway.restart()
      await untilTriedAgain(stack, late)
      await settleInTime(stack, late)
    }
    expect(await closingCheck(stack, source.log, { struck, volume: 2 * (ORDERS + LATE_ORDERS) })).toEqual([])
  })
})
