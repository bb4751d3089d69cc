import { setTimeout as sleep } from 'node:timers/promises'
import { MongoClient } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { addMixedLoad, createOrders } from '../support/load/mixed-load.ts'
import { WebhookSource } from '../support/load/webhook-source.ts'
import { prepareReplicaSet, startReplicaSet } from '../support/mongod/mongod-under-test.ts'
import { portOfPrimary } from '../support/mongod/primary-of-run.ts'
import { closingCheck } from '../support/stack/closing-check.ts'
import { startFaultProxy } from '../support/stack/fault-proxy.ts'
import { ServiceUnderTest } from '../support/stack/service-under-test.ts'
import { choosePlace, paymentOf, type Stack, startStack } from '../support/stack/stack.ts'
import { gatewaySettings } from '../support/stack/stack-settings.ts'
import { until } from '../support/until.ts'

const TRIES_WHILE_DOWN = 2
const DELAY_MS = 800

/** A stack whose services reach the primary of the run's replica set, and no other node, through a proxy. */
async function startStackBehindProxy(resources: AsyncDisposableStack) {
  const proxy = resources.use(await startFaultProxy())
  proxy.leadTo(await portOfPrimary())
  const uri = { MONGODB_URI: `mongodb://127.0.0.1:${proxy.port}/?directConnection=true` }
  return { proxy, stack: resources.use(await startStack({ gateway: uri, fulfilment: uri })) }
}

function sourceOf(stack: Stack, perSecond: number): WebhookSource {
  return new WebhookSource(stack.provider('acme'), { perSecond, parallel: 50 })
}

describe('the database', () => {
  it('FP-04: stopped under load: 500 in time and never 200, accepts again without a restart, nothing lost', async () => {
    await using set = await startReplicaSet(3)
    await using stack = await startStack({ mongoUri: set.uri })
    await using source = sourceOf(stack, 100)
    addMixedLoad(source, await createOrders(stack, 120))
    const finished = source.run()
    await source.untilAccepted(100)
    await Promise.all(set.nodes.map((node) => node.kill('SIGTERM')))
    const strange = { type: 'invoice.created', id: 'evt_strange', paymentId: 'p', orderId: 'o' }
    const event = { ...strange, amount: 1, currency: 'EUR', occurredAt: Date.now() }
    const answers = []
    while (answers.length < TRIES_WHILE_DOWN) answers.push(await stack.deliver(event))
    await Promise.all(set.nodes.map((node) => node.start()))
    const backAt = performance.now()
    await until(
      async () => (await stack.deliver(event)).status,
      (status) => status === 200,
    )
    expect(performance.now() - backAt).toBeLessThan(15_000)
    for (const { status, ms } of answers) {
      expect(status).toBe(500)
      expect(ms).toBeLessThan(10_000)
    }
    await finished
    await stack.untilSettled()
    await stack.events.deleteOne({ eventId: event.id })
    const row = { struck: { 'a delivery to a gateway without its database': answers.length }, volume: 500 }
    expect(await closingCheck(stack, source.log, row)).toEqual([])
  })

  it('FP-05: absent when the gateway starts: not ready and no 200 before it appears, ready soon after', async () => {
    await using resources = new AsyncDisposableStack()
    const set = resources.use(await prepareReplicaSet(3))
    const place = await choosePlace(resources, set.uri)
    const gateway = resources.use(new ServiceUnderTest('gateway', gatewaySettings(place)))
    const started = gateway.start()
    const readyz = () => fetch(`http://127.0.0.1:${place.adminPort}/readyz`).catch(() => null)
    await until(readyz, (answer) => answer !== null)
    await until(
      () => gateway.countOf('mongodb.unreachable'),
      (count) => count > 0,
    )
    expect((await readyz())?.status).toBe(503)
    const deliver = () => fetch(`http://127.0.0.1:${place.gatewayPort}/api/webhooks/acme`, { method: 'POST' })
    await expect(deliver()).rejects.toThrow('fetch failed')
    await set.begin()
    await started
    expect((await deliver()).status).toBe(401)
    await using client = await new MongoClient(set.uri).connect()
    expect(await client.db(place.gatewayDb).collection('events').countDocuments()).toBe(0)
    expect(gateway.faults).toEqual([])
  })

  it(`FP-18: slower by ${DELAY_MS} ms in both directions: later answers, no errors`, async () => {
    await using resources = new AsyncDisposableStack()
    const { proxy, stack } = await startStackBehindProxy(resources)
    const orders = await createOrders(stack, 40)
    const acme = stack.provider('acme')
    await using source = sourceOf(stack, 5)
    proxy.delay(DELAY_MS)
    for (const order of orders) source.add(paymentOf(order))
    const timed = orders.map(async (order, index) => {
      await sleep(index * 200)
      return acme.deliver(acme.write(paymentOf(order, { type: 'payment.failed', paymentId: `try_${order.id}` })))
    })
    const [answers] = await Promise.all([Promise.all(timed), source.run()])
    expect(answers.map(({ status }) => status)).toEqual(orders.map(() => 200))
    expect(source.log.flatMap((sent) => sent.answers)).toEqual(orders.map(() => 200))
    expect(Math.max(...answers.map(({ ms }) => ms))).toBeLessThan(8_000)
    expect(Math.min(...answers.map(({ ms }) => ms)), 'the delay was felt').toBeGreaterThan(2 * DELAY_MS)
    proxy.delay(0)
    await stack.untilSettled()
    await stack.events.deleteMany({ eventId: { $in: answers.map(({ eventId }) => eventId) } })
    const problems = await closingCheck(stack, source.log, {
      struck: { 'a delayed delivery': answers.length },
      volume: orders.length,
    })
    expect(problems.filter((problem) => !problem.startsWith('I6'))).toEqual([])
  })

  it('FP-19: whose connections break repeatedly: some 500s, nothing lost and nothing twice', async () => {
    await using resources = new AsyncDisposableStack()
    const { proxy, stack } = await startStackBehindProxy(resources)
    await using source = sourceOf(stack, 100)
    addMixedLoad(source, await createOrders(stack, 120))
    let isOver = false
    const finished = source.run().then(() => {
      isOver = true
    })
    let broken = 0
    while (!isOver) {
      // How often connections break.
      await sleep(100)
      broken += proxy.breakSome(10)
    }
    await finished
    await stack.untilSettled()
    expect(broken).toBeGreaterThan(20)
    const row = { struck: { 'a broken connection': broken }, volume: 500 }
    expect(await closingCheck(stack, source.log, row)).toEqual([])
  })
})
