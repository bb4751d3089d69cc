import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DeliveryReport } from '@oncehook/simulator/payment-provider'
import { describe, expect, it } from 'vitest'
import { addMixedLoad, createOrders, outlastReceiptLeases } from '../support/load/mixed-load.ts'
import { WebhookSource } from '../support/load/webhook-source.ts'
import { closingCheck } from '../support/stack/closing-check.ts'
import { startFaultProxy } from '../support/stack/fault-proxy.ts'
import { paymentOf, paymentRounds, type Stack, startStack } from '../support/stack/stack.ts'
import { LIMITED_GATEWAY } from '../support/stack/stack-settings.ts'
import { until, untilEqual } from '../support/until.ts'

const BACKLOG = Number(process.env.OUTAGE_EVENTS ?? 1_500)
const AWAY_MS = Number(process.env.OUTAGE_MS ?? 3_000)
const SETTLED_WITHIN_MS = 60_000 + 10 * BACKLOG
const KILLS = 8
const ORDERS_A_KILL = 25
const CALL_MS = 10_000

async function unsettledByMetric(stack: Stack): Promise<number> {
  const metrics = await (await fetch(`http://127.0.0.1:${stack.place.adminPort}/metrics`)).text()
  return Number(/^oncehook_events_unsettled (\d+)/m.exec(metrics)?.[1])
}

const REFUSED_OF_TEN = new Set([1, 4, 7])

/** Once switched on, answers three of ten calls to fulfilment with a 500 and forwards the others. */
async function startUnreliableFront(target: () => number) {
  let isUnreliable = false
  let calls = 0
  let refused = 0
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    // Count instead of drawing random numbers: with lucky numbers, too few calls would fail.
    if (isUnreliable && REFUSED_OF_TEN.has(calls++ % 10)) {
      refused += 1
      return response.writeHead(500).end()
    }
    const { 'content-length': _, connection: __, 'transfer-encoding': ___, ...headers } = request.headers
    const answer = await fetch(`http://127.0.0.1:${target()}${request.url}`, {
      method: request.method ?? 'GET',
      headers: headers as Record<string, string>,
      ...(parts.length > 0 ? { body: Buffer.concat(parts) } : {}),
    })
    const type = answer.headers.get('content-type') ?? 'application/json'
    return response.writeHead(answer.status, { 'content-type': type }).end(Buffer.from(await answer.arrayBuffer()))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    beginToFail: () => {
      isUnreliable = true
    },
    refused: () => refused,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Delivers an event without a handler every 50 ms until this number of other events is done. */
async function deliverUntilDone(stack: Stack, count: number): Promise<DeliveryReport[]> {
  const reports: DeliveryReport[] = []
  const deadline = performance.now() + SETTLED_WITHIN_MS
  while ((await stack.events.countDocuments({ state: 'done' })) < count) {
    if (performance.now() > deadline) throw new Error('The backlog does not come to an end')
    const id = `evt_meanwhile_${reports.length}`
    const strange = { type: 'invoice.created', id, paymentId: 'p', orderId: 'o', amount: 1, currency: 'EUR' } as const
    reports.push(await stack.deliver({ ...strange, occurredAt: Date.now() }))
    // The rate of the deliveries.
    await sleep(50)
  }
  return reports
}

describe('fulfilment that', { timeout: 300_000 + 2 * SETTLED_WITHIN_MS }, () => {
  it(`FP-06: is unavailable while ${BACKLOG} events arrive: they are accepted, applied once afterwards, and none is dead`, async () => {
    await using stack = await startStack()
    await using source = new WebhookSource(stack.provider('acme'), { perSecond: 2_000, parallel: 100 })
    const orders = await createOrders(stack, BACKLOG / 5)
    for (const payment of paymentRounds(orders)) source.add(payment)
    await stack.fulfilment.kill('SIGKILL')
    await source.run()
    const refusals = source.log.flatMap(({ answers }) => answers).filter((answer) => answer !== 200)
    expect(refusals, 'answers that tell of the outage').toEqual([])
    expect(await unsettledByMetric(stack)).toBe(BACKLOG)
    // How long it is away: retries and the breaker count real time.
    await sleep(AWAY_MS)
    const waited = await stack.events.countDocuments({ 'attempts.0': { $exists: false } })

    await stack.fulfilment.restart()
    const backAt = performance.now()
    const meanwhile = await deliverUntilDone(stack, BACKLOG)
    const seconds = (performance.now() - backAt) / 1_000
    const slowest = Math.max(...meanwhile.map(({ ms }) => ms))
    process.stderr.write(
      `${BACKLOG} events, of which ${waited} were never tried in vain, done in ${seconds.toFixed(1)} s; ` +
        `${meanwhile.length} deliveries meanwhile, the slowest answered after ${slowest.toFixed(0)} ms\n`,
    )
    expect(meanwhile.map(({ status }) => status)).toEqual(meanwhile.map(() => 200))
    await stack.untilSettled()
    expect(await unsettledByMetric(stack)).toBe(0)
    // There was no stampede during the outage or after it: most events were tried once, when they could succeed.
    expect(waited).toBeGreaterThan(BACKLOG / 2)
    const triedTwice = { 'attempts.1': { $exists: true } }
    // These are the events of the probes during the outage, and the same number for the time of the start.
    expect(await stack.events.countDocuments(triedTwice)).toBeLessThanOrEqual(2 * (BACKLOG - waited))
    const others = await stack.events.countDocuments({ ...triedTwice, 'attempts.code': { $ne: 'unavailable' } })
    expect(others, 'events that were tried twice without need').toBe(0)
    await stack.events.deleteMany({ eventId: /^evt_meanwhile_/ })
    expect(await stack.events.countDocuments({ state: 'done' })).toBe(BACKLOG)
    const row = { struck: { 'an event of the outage': waited }, volume: BACKLOG }
    expect(await closingCheck(stack, source.log, row)).toEqual([])
  })

  it(`FP-02: is killed ${KILLS} times under load: every delivery is answered 200 at once, and all settles`, async () => {
    await using stack = await startStack()
    await using source = new WebhookSource(stack.provider('acme'), { perSecond: 100, parallel: 50 })
    addMixedLoad(source, await createOrders(stack, KILLS * ORDERS_A_KILL))
    const finished = source.run()
    for (let kill = 1; kill <= KILLS; kill += 1) {
      await source.untilAccepted(kill * 4 * ORDERS_A_KILL)
      await stack.fulfilment.kill('SIGKILL')
      await stack.fulfilment.restart()
    }
    await finished
    const lastKillAt = performance.now()
    await outlastReceiptLeases(stack)
    await stack.untilSettled()
    expect(performance.now() - lastKillAt).toBeLessThan(60_000)
    const genuine = source.log.filter(({ tampered }) => tampered === undefined)
    expect(genuine.flatMap(({ answers }) => answers).filter((answer) => answer !== 200)).toEqual([])
    const failed = await stack.events.countDocuments({ 'attempts.code': 'unavailable' })
    expect(failed, 'events that met a dead fulfilment').toBeGreaterThan(0)
    const row = { struck: { 'an event that met a dead fulfilment': failed }, volume: KILLS * 4 * ORDERS_A_KILL }
    expect(await closingCheck(stack, source.log, row)).toEqual([])
  })

  it('FP-07: answers 500 to three calls of ten is called again: every event has one effect', async () => {
    let port = 0
    await using front = await startUnreliableFront(() => port)
    const limits = { TEST_LIMITS: JSON.stringify({ dispatchBatch: 20 }) }
    const settings = { FULFILMENT_URL: `http://127.0.0.1:${front.port}`, ...limits }
    await using stack = await startStack({ gateway: settings, gatewayScript: LIMITED_GATEWAY })
    port = stack.place.fulfilmentPort
    const orders = await createOrders(stack, 120)
    front.beginToFail()
    await using source = new WebhookSource(stack.provider('acme'), { perSecond: 200, parallel: 50 })
    addMixedLoad(source, orders)
    await source.run()
    await stack.untilSettled()
    expect(front.refused()).toBeGreaterThan(5)
    const again = await stack.events.countDocuments({ 'attempts.1': { $exists: true } })
    expect(again, 'events that were tried more than once').toBeGreaterThan(0)
    const row = { struck: { 'a refused call': front.refused() }, volume: 500 }
    expect(await closingCheck(stack, source.log, row)).toEqual([])
  })
})

// Both wait for the end of a call that nobody answers: 10 s.
describe.concurrent('a call to fulfilment', () => {
  it('FP-08: that hangs is given up within 12 s; everything settles once it answers again', async () => {
    await using stack = await startStack()
    await using source = new WebhookSource(stack.provider('acme'), { perSecond: 100, parallel: 50 })
    addMixedLoad(source, await createOrders(stack, 120))
    const finished = source.run()
    await source.untilAccepted(50)
    stack.fulfilment.pause()
    const timedOut = { 'attempts.ms': { $gte: CALL_MS - 500 } }
    await until(
      () => stack.events.countDocuments(timedOut),
      (count) => count > 0,
    )
    stack.fulfilment.resume()
    await finished
    await stack.untilSettled()
    const longest = await stack.events.countDocuments({ 'attempts.ms': { $gt: 12_000 } })
    expect(longest, 'calls that were open for longer than 12 s').toBe(0)
    // Those of a hanging call may be its cause. Those that waited behind it are no suspects.
    const takenOver = stack.gateway.lines.filter(({ msg }) => msg === 'event.taken-over')
    const suspects = takenOver.reduce((sum, { events }) => sum + Number(events), 0)
    const hung = await stack.events.aggregate([{ $unwind: '$attempts' }, { $match: timedOut }]).toArray()
    expect(suspects, 'events that were tried as suspects').toBeLessThanOrEqual(hung.length)
    expect(source.log.flatMap(({ answers }) => answers)).not.toContain(500)
    const row = { struck: { 'an event of a call that hung': hung.length }, volume: 500 }
    expect(await closingCheck(stack, source.log, row)).toEqual([])
  })

  it('P9: that worked but whose answer was lost is repeated: the event is done, not dead, with one effect', async () => {
    await using between = await startFaultProxy()
    await using stack = await startStack({ gateway: { FULFILMENT_URL: `http://127.0.0.1:${between.port}` } })
    between.leadTo(stack.place.fulfilmentPort)
    const orders = await createOrders(stack, 5)
    await using source = new WebhookSource(stack.provider('acme'), { perSecond: 100, parallel: 10 })
    const struck = between.strike({ marker: 'payments.applyEvents', swallows: 'reply' })
    for (const order of orders) source.add(paymentOf(order))
    await source.run()
    await struck
    const [first] = await stack.orderRecords.find({ status: 'paid' }).toArray()
    expect(first, 'an order that was paid before the gateway knew').toBeDefined()
    await stack.untilSettled()
    const records = await stack.events.find().toArray()
    expect(records.map(({ state }) => state)).toEqual(orders.map(() => 'done'))
    const tries = records.flatMap(({ attempts }) => attempts.map(({ outcome }) => outcome))
    expect(tries).toEqual(expect.arrayContaining(['deferred', 'duplicate']))
    const row = { struck: { 'a reply that was lost': tries.length - orders.length }, volume: orders.length }
    expect(await closingCheck(stack, source.log, row)).toEqual([])
  })
})

describe('a wait between two attempts', () => {
  it('FP-21: survives a restart of the gateway: neither restarted nor cut short', async () => {
    const patient = { RETRY_BASE_MS: '60000', RETRY_CAP_MS: '60000' }
    await using stack = await startStack({ gateway: patient })
    const [sample] = await createOrders(stack, 1)
    await using source = new WebhookSource(stack.provider('acme'), { perSecond: 200, parallel: 20 })
    const ids = Array.from({ length: 100 }, (_, index) => `ord_waits_${index}`)
    for (const id of ids) source.add(paymentOf({ ...(sample ?? expect.unreachable()), id }))
    await source.run()
    const deferred = { 'attempts.code': 'order_unknown', state: 'pending' } as const
    await untilEqual(() => stack.events.countDocuments(deferred), ids.length)
    const read = async () => {
      const found = await stack.events
        .find({ state: 'pending', 'attempts.1': { $exists: false } })
        .sort({ _id: 1 })
        .toArray()
      return found as unknown as { eventId: string; dueAt: Date; starts: number }[]
    }
    const before = await read()
    await stack.gateway.kill('SIGKILL')
    await stack.gateway.restart()
    const timeOf = async () => (await stack.events.db.command({ hello: 1 })).localTime as Date
    const restartedAt = await timeOf()
    await until(
      async () => (await read()).filter(({ dueAt }) => dueAt <= restartedAt),
      (overdue) => overdue.length === 0,
      15_000,
    )
    const after = await read()
    const now = await timeOf()
    // Events that are not yet due are untouched. Events that were due at the restart have been tried.
    const waits = before.filter(({ dueAt }) => dueAt.getTime() > now.getTime())
    expect(waits.length, 'waits that the restart fell into').toBeGreaterThan(50)
    const untouched = new Map(after.map((record) => [record.eventId, record.dueAt.getTime()]))
    for (const { eventId, dueAt } of waits) expect(untouched.get(eventId)).toBe(dueAt.getTime())
    // An attempt in progress has begun and has no result yet. Neither has one that the kill cut off, for those due by then.
    const dueByKill = new Set(
      before.filter(({ dueAt }) => dueAt.getTime() <= now.getTime()).map(({ eventId }) => eventId),
    )
    const counts = await stack.events.find({ state: 'pending', 'attempts.1': { $exists: true } }).toArray()
    for (const { eventId, starts, attempts } of counts) {
      expect([attempts.length, ...(dueByKill.has(eventId) ? [attempts.length + 1] : [])]).toContain(starts)
    }
  })
})
