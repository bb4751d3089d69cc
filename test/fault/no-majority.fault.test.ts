import type { PaymentEvent } from '@oncehook/webhooks/signing/payment-event'
import { describe, expect, it } from 'vitest'
import { addMixedLoad, createOrders, outlastReceiptLeases } from '../support/load/mixed-load.ts'
import { deleteOf, keyedPostOf, patchOf, putOf } from '../support/load/orders-writes.ts'
import { WebhookSource } from '../support/load/webhook-source.ts'
import { directClient } from '../support/mongod/direct-client.ts'
import { freeze, startReplicaSet } from '../support/mongod/mongod-under-test.ts'
import { closingCheck } from '../support/stack/closing-check.ts'
import { callOperator } from '../support/stack/operator-call.ts'
import type { ApiOrder } from '../support/stack/records.ts'
import { paymentOf, startStack } from '../support/stack/stack.ts'
import { until } from '../support/until.ts'

const ORDERS = 130
const FRESH = 40
const BACKLOG = 100
// The backlog must not keep the machine busy, because it has other work.
const SELDOM = { RETRY_BASE_MS: '2000', RETRY_CAP_MS: '4000' }
// A write without a majority fails in less than half of the lease, so nobody takes over from others during the outage.
const STEADY = { LEASE_MS: '12000', MAX_CRASHES: '3' }
const ANSWERED_WITHIN_MS = 10_000

const readiness = (port: number) => async (): Promise<number> => (await fetch(`http://127.0.0.1:${port}/readyz`)).status

/** Payments of orders that nobody has made yet: they wait, and are tried again and again. */
function backlogLike(sample: ApiOrder): PaymentEvent[] {
  return Array.from({ length: BACKLOG }, (_, n) => paymentOf({ ...sample, id: `ord_late_${n}`, amountDue: 500 }))
}

describe('a primary that has lost both secondaries', () => {
  it('FP-31: acknowledges nothing, first or repeated, until a majority holds it, and no event that waited dies of it', async () => {
    await using set = await startReplicaSet(3, { electionsByHand: true })
    await using stack = await startStack({ mongoUri: set.uri, gateway: { ...SELDOM, ...STEADY } })
    await using source = new WebhookSource(stack.provider('acme'), { perSecond: 150, parallel: 100 })
    const [patched, deleted, ...orders] = await createOrders(stack, ORDERS + FRESH + 2)
    const backlog = backlogLike(patched ?? expect.unreachable())
    for (const event of backlog) source.add(event)
    const waiting = { eventId: { $in: backlog.map(({ id }) => id) } }
    addMixedLoad(source, orders.slice(0, ORDERS))
    const finished = source.run()
    await source.untilAccepted(BACKLOG + 100)
    await until(
      () => stack.events.countDocuments({ ...waiting, 'attempts.code': 'order_unknown' }),
      (count) => count === BACKLOG,
    )
    const primary = await set.primary()
    using frozen = freeze(await set.secondaries())

    const acme = stack.provider('acme')
    const payments = orders.slice(ORDERS).map((order) => paymentOf(order))
    const messages = payments.map((payment) => acme.write(payment))
    const writes = [
      putOf(stack.orders, 'ord_put_without_majority'),
      patchOf(stack.orders, patched?.id ?? ''),
      deleteOf(stack.orders, deleted?.id ?? ''),
      keyedPostOf(stack.orders),
    ]
    const deliverAll = () => Promise.all(messages.map((message) => acme.deliver(message)))
    const writeAll = () => Promise.all(writes.map((write) => write()))
    for (const turn of ['first', 'again']) {
      const [delivered, written] = await Promise.all([deliverAll(), writeAll()])
      expect(
        delivered.map(({ status }) => status),
        `deliveries, ${turn}`,
      ).toEqual(messages.map(() => 500))
      for (const { ms } of delivered) expect(ms).toBeLessThan(ANSWERED_WITHIN_MS)
      expect(written, `PUT, PATCH, DELETE and POST of orders, ${turn}`).toEqual(writes.map(() => 503))
    }

    for (const port of [stack.place.adminPort, stack.place.fulfilmentPort]) {
      expect(await until(readiness(port), (status) => status !== 200)).toBe(503)
    }

    // The primary has them, but no majority does.
    await using client = await directClient(primary.port).connect()
    const fresh = { eventId: { $in: payments.map(({ id }) => id) } }
    const events = client.db(stack.place.gatewayDb).collection('events')
    expect(await set.primary(), 'the primary').toBe(primary)
    const heldByPrimary = await events.countDocuments(fresh, { readConcern: 'local' })
    expect(heldByPrimary).toBe(FRESH)
    expect(await events.countDocuments(fresh, { readConcern: 'majority' })).toBe(0)

    const ids = new Set(payments.map(({ id }) => id))
    const { items } = (await callOperator(stack, 'events.list', undefined)) as { items: { eventId: string }[] }
    expect(items.length, 'events shown to an operator').toBeGreaterThan(0)
    expect(items.filter(({ eventId }) => ids.has(eventId))).toEqual([])

    // These were claimed on the primary, and the gateway learned that no majority has the claim.
    const claimed = await events.countDocuments({ ...waiting, state: 'processing' }, { readConcern: 'local' })
    frozen.resume()
    await stack.untilReady()
    await finished
    for (const payment of payments) source.add(payment)
    await source.run()
    // None had been written anywhere: what marks a call as used needs a majority, too.
    expect(await writeAll()).toEqual([201, 200, 204, 201])
    for (const { orderId } of backlog) expect(await putOf(stack.orders, orderId)()).toBe(201)
    await outlastReceiptLeases(stack)
    await stack.untilSettled()
    await stack.orderRecords.deleteMany({ _id: { $in: [patched?.id ?? '', deleted?.id ?? ''] } })
    const struck = { 'a write that no majority held': heldByPrimary, 'a claim that no majority held': claimed }
    const row = { struck, volume: 500 }
    expect(await closingCheck(stack, source.log, row)).toEqual([])
    expect(await events.countDocuments(fresh)).toBe(FRESH)
  })
})
