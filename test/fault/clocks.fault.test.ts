import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { closingCheck } from '../support/closing-check.ts'
import { createFakeClock, removeFakeClockRemains } from '../support/fake-clock.ts'
import { createOrders } from '../support/mixed-load.ts'
import { adminCommand, startReplicaSet } from '../support/mongod-under-test.ts'
import type { ApiOrder } from '../support/records.ts'
import { paymentOf, type Stack, startStack } from '../support/stack.ts'
import { until } from '../support/until.ts'
import { WebhookSource } from '../support/webhook-source.ts'

const HOUR_S = 3_600
const ORDERS = 20
const LATE_ORDERS = 5
const PACE = { perSecond: 40, parallel: 10 }
const MODEST = { perSecond: 20, parallel: 5, repetitionsPerSecond: 5 }
const CONTENT = { customerId: 'cus_late', currency: 'EUR', items: [{ sku: 's', quantity: 1, unitAmount: 2_000 }] }
// Leases and retries of these stacks last seconds; an hour means that something waited for the wrong clock.
const SETTLED_WITHIN_MS = 60_000

/** The clock of a service, as its answers show it. */
const clockAt = (port: number) => async (): Promise<Date> => {
  const { headers } = await fetch(`http://127.0.0.1:${port}/livez`)
  return new Date(headers.get('date') ?? '')
}

/** Some orders that nobody has made yet, shaped like one that somebody has. */
function lateOrders([sample]: readonly ApiOrder[]): ApiOrder[] {
  if (sample === undefined) throw new Error('There is no order')
  return Array.from({ length: LATE_ORDERS }, () => ({ ...sample, id: `ord_late_${randomUUID()}`, amountDue: 2_000 }))
}

/** Waits until each of these events was put off because its order is unknown. */
async function untilDeferred(stack: Stack, orders: readonly ApiOrder[]): Promise<void> {
  const deferred = { orderId: { $in: orders.map(({ id }) => id) }, 'attempts.code': 'order_unknown' }
  await until(
    () => stack.events.countDocuments(deferred),
    (count) => count === orders.length,
  )
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
  expect(performance.now() - rightAt, 'milliseconds from the right clock until all is settled').toBeLessThan(
    SETTLED_WITHIN_MS,
  )
}

/** How many calls of fulfilment have failed as a whole. */
async function failedCalls(stack: Stack): Promise<number> {
  return stack.events.countDocuments({ 'attempts.code': 'unavailable' })
}

describe('a clock that is an hour ahead, and one that is an hour behind', () => {
  it('FP-40: of the gateway refuses signatures while it is wrong; repeated, they are all accepted and settled', async (context) => {
    await using clock = await createFakeClock(context)
    await using stack = await startStack({ gateway: clock.env })
    await using source = new WebhookSource(stack.provider('acme'), MODEST)
    // This provider signs no time: its deliveries are accepted by any clock.
    await using timeless = new WebhookSource(stack.provider('shop'), MODEST)
    const read = clockAt(stack.place.adminPort)
    const struck: Record<string, number> = {}
    for (const seconds of [HOUR_S, -HOUR_S]) {
      const orders = await createOrders(stack, ORDERS)
      const late = lateOrders(orders)
      for (const order of late) source.add(paymentOf(order))
      await source.run()
      await untilDeferred(stack, late)
      await clock.set(seconds, read)
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
      await clock.set(0, read)
      await finished
      await settleInTime(stack, late)
    }
    struck['a call of fulfilment that failed'] = await failedCalls(stack)
    const log = [...source.log, ...timeless.log]
    expect(await closingCheck(stack, log, { struck, volume: 2 * (ORDERS + LATE_ORDERS) })).toEqual([])
  })

  it('FP-40: of fulfilment delays events until it is right; every delivery is answered 200 at once', async (context) => {
    await using clock = await createFakeClock(context)
    await using stack = await startStack({ fulfilment: clock.env })
    await using source = new WebhookSource(stack.provider('acme'), PACE)
    const read = clockAt(stack.place.fulfilmentPort)
    const struck: Record<string, number> = {}
    for (const seconds of [HOUR_S, -HOUR_S]) {
      const orders = await createOrders(stack, ORDERS)
      const late = lateOrders(orders)
      for (const order of late) source.add(paymentOf(order))
      await source.run()
      await untilDeferred(stack, late)
      await clock.set(seconds, read)
      const before = await failedCalls(stack)
      for (const order of orders) source.add(paymentOf(order))
      await source.run()
      const failed = await until(
        () => failedCalls(stack),
        (count) => count > before,
      )
      struck[`a call that failed at ${seconds} s`] = failed - before
      await clock.set(0, read)
      await settleInTime(stack, late)
    }
    expect(new Set(source.log.flatMap(({ answers }) => answers))).toEqual(new Set([200]))
    expect(await closingCheck(stack, source.log, { struck, volume: 2 * (ORDERS + LATE_ORDERS) })).toEqual([])
  })

  it('FP-40: of the database delays events at most while it is wrong', async (context) => {
    await using clock = await createFakeClock(context)
    await using resources = new AsyncDisposableStack()
    const pids: number[] = []
    resources.defer(async () => {
      for (const pid of pids) await removeFakeClockRemains(pid)
    })
    const set = resources.use(await startReplicaSet(1, { environments: [clock.env] }))
    pids.push(...set.nodes.map(({ pid }) => pid))
    const stack = resources.use(await startStack({ mongoUri: set.uri }))
    const source = resources.use(new WebhookSource(stack.provider('acme'), PACE))
    const read = async (): Promise<Date> =>
      (await adminCommand(set.nodes[0]?.port ?? 0, { hello: 1 })).localTime as Date
    const struck: Record<string, number> = {}
    for (const seconds of [HOUR_S, -HOUR_S]) {
      const orders = await createOrders(stack, ORDERS)
      // None while it is behind: once it is right an hour seems to have passed, and no event waits longer for its order.
      const late = seconds > 0 ? lateOrders(orders) : []
      await clock.set(seconds, read)
      for (const order of late) source.add(paymentOf(order))
      await source.run()
      await untilDeferred(stack, late)
      stack.fulfilment.pause()
      for (const order of orders) source.add(paymentOf(order))
      await source.run()
      struck[`an event in hand at ${seconds} s`] = await stack.events.countDocuments({ state: 'processing' })
      // A gateway that dies leaves leases that end in an hour; one that lives has leases that ended long ago.
      if (seconds > 0) await stack.gateway.kill('SIGKILL')
      await clock.set(0, read)
      stack.fulfilment.resume()
      if (seconds > 0) await stack.gateway.restart()
      await settleInTime(stack, late)
    }
    expect(await closingCheck(stack, source.log, { struck, volume: 2 * ORDERS + LATE_ORDERS })).toEqual([])
  })
})
