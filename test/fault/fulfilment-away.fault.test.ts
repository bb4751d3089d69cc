import { setTimeout as sleep } from 'node:timers/promises'
import type { DeliveryReport } from '@oncehook/simulator/payment-provider'
import { describe, expect, it } from 'vitest'
import { addMixedLoad, createOrders } from '../support/load/mixed-load.ts'
import { WebhookSource } from '../support/load/webhook-source.ts'
import { closingCheck } from '../support/stack/closing-check.ts'
import { startFaultProxy } from '../support/stack/fault-proxy.ts'
import { paymentOf, paymentRounds, type Stack, startStack } from '../support/stack/stack.ts'
import { until } from '../support/until.ts'

const BACKLOG = Number(process.env.OUTAGE_EVENTS ?? 1_500)
const AWAY_MS = Number(process.env.OUTAGE_MS ?? 3_000)
const SETTLED_WITHIN_MS = 60_000 + 10 * BACKLOG
const CALL_MS = 10_000

async function unsettledByMetric(stack: Stack): Promise<number> {
  const metrics = await (await fetch(`http://127.0.0.1:${stack.place.adminPort}/metrics`)).text()
  return Number(/^oncehook_events_unsettled (\d+)/m.exec(metrics)?.[1])
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
