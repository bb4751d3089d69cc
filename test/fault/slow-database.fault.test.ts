import { describe, expect, it } from 'vitest'
import { addMixedLoad, createOrders, outlastReceiptLeases } from '../support/load/mixed-load.ts'
import { keyedPostOf, putOf } from '../support/load/orders-writes.ts'
import { WebhookSource } from '../support/load/webhook-source.ts'
import { adminCommand, type MongodUnderTest } from '../support/mongod/mongod-under-test.ts'
import { shareReplicaSet } from '../support/mongod/share-replica-set.ts'
import { closingCheck } from '../support/stack/closing-check.ts'
import { startFaultProxy } from '../support/stack/fault-proxy.ts'
import { startStack } from '../support/stack/stack.ts'
import { until } from '../support/until.ts'

const ORDERS = 130
// 10 s, plus the time that this process itself needs while hundreds of its requests wait.
const ANSWERED_WITHIN_MS = 14_000
const TICKETS_A_SECOND = 30
const DELAY_MS = 600
const AT_ONCE = 100

// The primary must stay, because the proxy and the slowdown apply only to this node.
const replicaSet = shareReplicaSet({ electionsByHand: true })

/** The total time in microseconds that a primary's writes have waited for flow control. */
async function throttledMicros({ port }: MongodUnderTest): Promise<number> {
  const { flowControl } = (await adminCommand(port, { serverStatus: 1 })) as {
    flowControl: { timeAcquiringMicros: number }
  }
  return Number(flowControl.timeAcquiringMicros)
}

/** How often a service has waited for a connection of its pool without getting one, by its metrics. */
async function waitedInVain(port: number): Promise<number> {
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  return Number(/^oncehook_database_errors_total\{class="MongoWaitQueueTimeoutError"\} (\d+)/m.exec(metrics)?.[1] ?? 0)
}

/** Lets the secondaries apply nothing until it is disposed of. */
async function lockSecondaries(secondaries: readonly MongodUnderTest[]): Promise<AsyncDisposable> {
  for (const { port } of secondaries) await adminCommand(port, { fsync: 1, lock: true })
  return {
    async [Symbol.asyncDispose]() {
      for (const { port } of secondaries) await adminCommand(port, { fsyncUnlock: 1 })
    },
  }
}

describe('a database that is slow', () => {
  it('FP-33: since flow control waits for secondaries that lag: later answers, nothing lost', async () => {
    const set = await replicaSet()
    await using stack = await startStack({ mongoUri: set.uri })
    await using source = new WebhookSource(stack.provider('acme'), { perSecond: 150, parallel: 100 })
    const primary = await set.primary()
    addMixedLoad(source, await createOrders(stack, ORDERS))
    void source.run()
    await source.untilAccepted(50)

    const before = await throttledMicros(primary)
    const tickets = { mode: 'alwaysOn', data: { numTickets: TICKETS_A_SECOND } }
    await adminCommand(primary.port, { configureFailPoint: 'flowControlTicketOverride', ...tickets })
    await source.untilAccepted(source.accepted + 100)
    const throttled = (await throttledMicros(primary)) - before
    let refused: number
    {
      await using _ = await lockSecondaries(await set.secondaries())
      const fresh = { type: 'invoice.created', id: 'evt_strange', paymentId: 'p', orderId: 'o' } as const
      const answer = await stack.deliver({ ...fresh, amount: 1, currency: 'EUR', occurredAt: Date.now() })
      expect(answer.status, 'a delivery while no secondary applies anything').toBe(500)
      expect(answer.ms).toBeLessThan(ANSWERED_WITHIN_MS)
      refused = 1
    }
    await adminCommand(primary.port, { configureFailPoint: 'flowControlTicketOverride', mode: 'off' })
    await source.run()
    await outlastReceiptLeases(stack)
    await stack.untilSettled()
    await stack.events.deleteMany({ eventId: 'evt_strange' })
    const struck = { 'a microsecond of waiting for flow control': throttled, 'a delivery without a majority': refused }
    expect(await closingCheck(stack, source.log, { struck, volume: 500 })).toEqual([])
  })

  it('FP-34: and takes all connections of the pools: refusals in time, nothing acknowledged is lost', async () => {
    const set = await replicaSet()
    await using proxy = await startFaultProxy()
    proxy.leadTo((await set.primary()).port)
    const uri = { MONGODB_URI: `mongodb://127.0.0.1:${proxy.port}/?directConnection=true` }
    await using stack = await startStack({ gateway: uri, fulfilment: uri, mongoUri: set.uri })
    await using source = new WebhookSource(stack.provider('acme'), { perSecond: 300, parallel: AT_ONCE })
    const orders = await createOrders(stack, ORDERS)
    proxy.delay(DELAY_MS)
    addMixedLoad(source, orders)
    const finished = source.run()
    const ids = Array.from({ length: AT_ONCE }, (_, index) => `ord_crowd_${index}`)
    const timed = async (write: () => Promise<number>) => {
      const begunAt = performance.now()
      return { status: await write(), ms: performance.now() - begunAt }
    }
    const writes = ids.flatMap((id) => [putOf(stack.orders, id), keyedPostOf(stack.orders)])
    const answers = await Promise.all(writes.map(timed))
    for (const { status, ms } of answers) {
      expect([201, 503]).toContain(status)
      expect(ms).toBeLessThan(ANSWERED_WITHIN_MS)
    }
    const waited = await waitedInVain(stack.place.fulfilmentPort)
    proxy.delay(0)
    await finished
    const acknowledged = ids.filter((_, index) => answers[2 * index]?.status === 201)
    for (const id of acknowledged) expect(await stack.orders.read(id)).toMatchObject({ id })
    for (const write of writes) expect(await until(write, (status) => status < 300)).toBeLessThan(300)
    await stack.untilSettled()
    const refusals = answers.filter(({ status }) => status === 503).length
    const struck = { 'a wait for a connection that was too long': waited, 'an order that was refused': refusals }
    expect(await closingCheck(stack, source.log, { struck, volume: 500 })).toEqual([])
    expect(await stack.orderRecords.countDocuments()).toBe(ORDERS + 2 * AT_ONCE)
  })
})
