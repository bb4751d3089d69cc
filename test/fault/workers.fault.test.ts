import { describe, expect, it } from 'vitest'
import { addMixedLoad, createOrders } from '../support/load/mixed-load.ts'
import { WebhookSource } from '../support/load/webhook-source.ts'
import { closingCheck } from '../support/stack/closing-check.ts'
import { startFaultProxy } from '../support/stack/fault-proxy.ts'
import { startSecondGateway } from '../support/stack/second-gateway.ts'
import { paymentOf, paymentRounds, type Stack, startStack } from '../support/stack/stack.ts'
import { LIMITED_GATEWAY } from '../support/stack/stack-settings.ts'
import { until, untilEqual } from '../support/until.ts'

// A claim lasts for both.
const SHORT_CLAIMS = { LEASE_MS: '1000', TEST_LIMITS: JSON.stringify({ fulfilmentCallMs: 3_000 }) }
const BACKLOG = 600
const WORKERS = 4
const BATCH = 20
const CALLS_AT_ONCE = 2
const SMALL_CALLS = {
  TEST_LIMITS: JSON.stringify({ dispatchBatch: BATCH }),
  DISPATCH_CONCURRENCY: String(CALLS_AT_ONCE),
}
// A process holds at most twice what it can send at once.
const MOST_HELD = 2 * CALLS_AT_ONCE * BATCH
const CALL_TAKES_MS = 300
const FIRST_CALLS_TAKE_MS = 4_000
const SETTLED_WITHIN_MS = 180_000
const COPIES = 50
const EVENTS = 60
// In addition to the two seconds of the row, because processes that share a machine with others are late.
const BUSY_MS = 3_000

/** Waits until more of the backlog is held than one process could hold. */
async function untilHeldBySeveral({ events }: Stack): Promise<void> {
  await until(
    () => events.countDocuments({ state: 'processing', claim: { $exists: true } }),
    (count) => count > MOST_HELD,
  )
}

async function databaseNow({ events }: Stack): Promise<number> {
  return (await events.db.command({ hello: 1 })).localTime.getTime()
}

/** How many claims a gateway could not settle because another one had taken them over. */
async function lostClaims({ place }: Stack): Promise<number> {
  const metrics = await (await fetch(`http://127.0.0.1:${place.adminPort}/metrics`)).text()
  return Number(/^oncehook_claims_lost_total (\d+)/m.exec(metrics)?.[1])
}

/** Sends the backlog while fulfilment is down, so that all of it waits. */
async function sendBacklog(stack: Stack): Promise<WebhookSource> {
  const source = new WebhookSource(stack.provider('acme'), { perSecond: 1_000, parallel: 50 })
  for (const payment of paymentRounds(await createOrders(stack, BACKLOG / 5))) source.add(payment)
  await stack.fulfilment.kill('SIGTERM')
  await source.run()
  expect(await stack.events.countDocuments({ state: { $in: ['pending', 'processing'] } })).toBe(BACKLOG)
  return source
}

async function closeBacklog(stack: Stack, source: WebhookSource): Promise<void> {
  await until(
    () => stack.events.countDocuments({ state: 'done' }),
    (count) => count === BACKLOG,
    SETTLED_WITHIN_MS,
  )
  await stack.untilSettled()
  const row = { struck: { 'an event that waited': BACKLOG }, volume: BACKLOG, receiptsOnce: true as const }
  expect(await closingCheck(stack, source.log, row)).toEqual([])
}

describe('two gateways on one inbox', () => {
  it('FP-03: 50 copies of one event, shared out between both, are fifty 200s, one record and one receipt', async () => {
    await using stack = await startStack()
    await using second = await startSecondGateway(stack)
    const providers = [stack.provider('acme'), second.provider]
    await using source = new WebhookSource(stack.provider('acme'), { perSecond: 100, parallel: 10 })
    for (const order of await createOrders(stack, EVENTS)) {
      source.add(paymentOf(order))
      const { message } = source.log.at(-1) ?? expect.unreachable()
      const copies = Array.from({ length: COPIES }, (_, index) => providers[index % 2]?.deliver(message))
      const answers = await Promise.all(copies)
      expect(answers.map((answer) => answer?.status)).toEqual(Array(COPIES).fill(200))
    }
    await source.run()
    await stack.untilSettled()
    const row = { struck: { 'copies of one event': COPIES }, volume: EVENTS, receiptsOnce: true as const }
    expect(await closingCheck(stack, source.log, row)).toEqual([])
    const copiesTaken = { deliveries: COPIES + 1 }
    await untilEqual(() => stack.events.countDocuments(copiesTaken), EVENTS)
  })

  /**
   * The first calls are slow until more is held than one process could hold. How large the share of each becomes is the
   * scheduler's business, and no promise.
   */
  it(`FP-12: both claim from a backlog of ${BACKLOG}, and each event has one effect`, async () => {
    await using between = await startFaultProxy()
    const settings = { ...SMALL_CALLS, FULFILMENT_URL: `http://127.0.0.1:${between.port}` }
    await using stack = await startStack({ gateway: settings, gatewayScript: LIMITED_GATEWAY })
    between.leadTo(stack.place.fulfilmentPort)
    await using _second = await startSecondGateway(stack, settings, LIMITED_GATEWAY)
    await using source = await sendBacklog(stack)
    between.delay(FIRST_CALLS_TAKE_MS / 2)
    await stack.fulfilment.restart()
    await untilHeldBySeveral(stack)
    between.delay(CALL_TAKES_MS / 2)
    await closeBacklog(stack, source)
  })

  it(`FP-12: four workers of one gateway claim from a backlog of ${BACKLOG}`, async () => {
    await using between = await startFaultProxy()
    const url = `http://127.0.0.1:${between.port}`
    await using stack = await startStack({
      gateway: { ...SMALL_CALLS, FULFILMENT_URL: url, WORKERS: String(WORKERS) },
      gatewayScript: LIMITED_GATEWAY,
    })
    between.leadTo(stack.place.fulfilmentPort)
    await using source = await sendBacklog(stack)
    await stack.gateway.kill('SIGTERM')
    await stack.fulfilment.restart()
    between.delay(FIRST_CALLS_TAKE_MS / 2)
    const restarted = stack.gateway.restart()
    await untilHeldBySeveral(stack)
    between.delay(CALL_TAKES_MS / 2)
    await restarted
    await closeBacklog(stack, source)
  })

  it('FP-13: one that is killed with claims in its hands is relieved of them within two seconds of their end', async () => {
    await using stack = await startStack({ gateway: SHORT_CLAIMS, gatewayScript: LIMITED_GATEWAY })
    await using second = await startSecondGateway(stack, SHORT_CLAIMS, LIMITED_GATEWAY)
    await using source = new WebhookSource(stack.provider('acme'), { perSecond: 400, parallel: 100 })
    addMixedLoad(source, await createOrders(stack, 120))
    // While the other one is frozen, all claims are those of the first.
    second.gateway.pause()
    stack.fulfilment.pause()
    const finished = source.run()
    const isHeld = { state: 'processing', claim: { $exists: true } } as const
    await until(
      () => stack.events.countDocuments(isHeld),
      (count) => count > 100,
    )
    await stack.gateway.kill('SIGKILL')
    const held = await stack.events.find(isHeld).toArray()
    const orphans = { claim: { $in: held.flatMap(({ claim }) => claim ?? []) } }
    second.gateway.resume()
    stack.fulfilment.resume()
    await untilEqual(() => stack.events.countDocuments(orphans), 0)
    const endedAt = Math.max(...held.map(({ dueAt }) => dueAt?.getTime() ?? 0))
    expect((await databaseNow(stack)) - endedAt).toBeLessThan(2_000 + BUSY_MS)
    expect(second.gateway.countOf('event.taken-over')).toBeGreaterThan(0)
    await stack.gateway.restart()
    await finished
    await stack.untilSettled()
    const row = { struck: { 'a claim that outlived its holder': held.length }, volume: 500 }
    expect(await closingCheck(stack, source.log, row)).toEqual([])
  })

  it('FP-26: one that was frozen past the end of its claims settles nothing when it resumes, and its events are reclaimed', async () => {
    await using stack = await startStack({ gateway: SHORT_CLAIMS, gatewayScript: LIMITED_GATEWAY })
    await using second = await startSecondGateway(stack, SHORT_CLAIMS, LIMITED_GATEWAY)
    await using source = new WebhookSource(stack.provider('acme'), { perSecond: 400, parallel: 100 })
    const orders = await createOrders(stack, 60)
    addMixedLoad(source, orders)
    const finished = source.run()
    await source.untilAccepted(80)

    // Its calls wait for a fulfilment that does not answer when it is frozen. It wakes to answers that came too late.
    stack.fulfilment.pause()
    await source.untilAccepted(source.accepted + 10)
    stack.gateway.pause()
    const asleep = await stack.events.find({ state: 'processing' }).toArray()
    stack.fulfilment.resume()
    const ids = asleep.map(({ eventId }) => eventId)
    await untilEqual(() => stack.events.countDocuments({ eventId: { $in: ids }, state: 'done' }), ids.length)
    const settled = await stack.events.find({ eventId: { $in: ids } }).toArray()
    stack.gateway.resume()
    await until(
      () => lostClaims(stack),
      (count) => count > 0,
    )
    await finished
    await stack.untilSettled()
    // When it has stopped, it has written all that it may still write.
    await stack.gateway.kill('SIGTERM')

    expect(second.gateway.countOf('event.taken-over')).toBeGreaterThan(0)
    expect(settled.filter(({ starts }) => starts >= 2).length, 'events that were taken over').toBeGreaterThan(0)
    const strip = ({ state, starts, attempts }: (typeof settled)[number]) => ({ state, starts, attempts })
    const awake = await stack.events.find({ eventId: { $in: ids } }).toArray()
    expect(awake.map(strip)).toEqual(settled.map(strip))
    const row = { struck: { 'a claim of the sleeper': ids.length }, volume: 4 * orders.length }
    expect(await closingCheck(stack, source.log, row)).toEqual([])
  })
})
