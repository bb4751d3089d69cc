import { describe, expect, it } from 'vitest'
import { closingCheck } from '../support/closing-check.ts'
import { directClient } from '../support/direct-client.ts'
import { addMixedLoad, createOrders, outlastReceiptLeases } from '../support/mixed-load.ts'
import { freeze, startReplicaSet } from '../support/mongod-under-test.ts'
import { deleteOf, keyedPostOf, patchOf, putOf } from '../support/orders-writes.ts'
import { paymentOf, startStack } from '../support/stack.ts'
import { until } from '../support/until.ts'
import { WebhookSource } from '../support/webhook-source.ts'

const ORDERS = 130
const FRESH = 40
const ANSWERED_WITHIN_MS = 10_000

const readiness = (port: number) => async (): Promise<number> => (await fetch(`http://127.0.0.1:${port}/readyz`)).status

describe('a primary that has lost both secondaries', () => {
  it('FP-31: acknowledges nothing, first or repeated, until a majority holds it', async () => {
    await using set = await startReplicaSet(3, { electionsByHand: true })
    await using stack = await startStack({ mongoUri: set.uri })
    await using source = new WebhookSource(stack.provider('acme'), { perSecond: 150, parallel: 100 })
    const [patched, deleted, ...orders] = await createOrders(stack, ORDERS + FRESH + 2)
    addMixedLoad(source, orders.slice(0, ORDERS))
    const finished = source.run()
    await source.untilAccepted(100)
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

    // The primary holds them, and no majority does.
    await using client = await directClient(primary.port).connect()
    const fresh = { eventId: { $in: payments.map(({ id }) => id) } }
    const events = client.db(stack.place.gatewayDb).collection('events')
    expect(await set.primary(), 'the primary').toBe(primary)
    const heldByPrimary = await events.countDocuments(fresh, { readConcern: 'local' })
    expect(heldByPrimary).toBe(FRESH)
    expect(await events.countDocuments(fresh, { readConcern: 'majority' })).toBe(0)

    frozen.resume()
    await stack.untilReady()
    await finished
    for (const payment of payments) source.add(payment)
    await source.run()
    expect(await writeAll()).toEqual([200, 412, 204, 201])
    await outlastReceiptLeases(stack)
    await stack.untilSettled()
    await stack.orderRecords.deleteMany({ _id: { $in: [patched?.id ?? '', deleted?.id ?? ''] } })
    const row = { struck: { 'a write that no majority held': heldByPrimary }, volume: 500 }
    expect(await closingCheck(stack, source.log, row)).toEqual([])
    expect(await events.countDocuments(fresh)).toBe(FRESH)
  })
})
