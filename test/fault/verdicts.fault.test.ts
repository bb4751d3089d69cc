import { afterAll, describe, expect, it } from 'vitest'
import { createOrders } from '../support/load/mixed-load.ts'
import { type SentEvent, WebhookSource } from '../support/load/webhook-source.ts'
import { closingCheck } from '../support/stack/closing-check.ts'
import { callOperator } from '../support/stack/operator-call.ts'
import { paymentOf, startStack } from '../support/stack/stack.ts'
import { until, untilEqual } from '../support/until.ts'

const PACE = { perSecond: 300, parallel: 100 }
const PAIRS = 200
const HUNDREDS = 2

const resources = new AsyncDisposableStack()
afterAll(() => resources.disposeAsync())
const stack = resources.use(await startStack())
const log: SentEvent[] = []
const mended: string[] = []

function newSource(): WebhookSource {
  return new WebhookSource(stack.provider('acme'), PACE)
}

describe('an event that cannot succeed', () => {
  it('FP-09: one per hundred is dead at once with its reason, and every other is done at the first try', async () => {
    await using source = newSource()
    const orders = await createOrders(stack, HUNDREDS * 100)
    const isPoison = (index: number): boolean => index % 100 === 0
    for (const [index, order] of orders.entries()) {
      source.add(paymentOf(order, isPoison(index) ? { amount: order.amountDue + 1 } : {}))
    }
    await source.run()
    await stack.untilSettled()
    const { poison = [], good = [] } = Object.groupBy(source.log, (_, index) => (isPoison(index) ? 'poison' : 'good'))
    log.push(...good)
    const idsOf = (sent: readonly SentEvent[]): string[] => sent.map(({ event }) => event.id)
    const firstTry = { state: 'done', starts: 1, 'attempts.1': { $exists: false } } as const
    expect(await stack.events.countDocuments({ ...firstTry, eventId: { $in: idsOf(good) } })).toBe(good.length)
    const dead = await stack.events.find({ eventId: { $in: idsOf(poison) } }).toArray()
    expect(dead).toHaveLength(HUNDREDS)
    for (const record of dead) expect(record).toMatchObject({ state: 'dead', reason: 'amount_mismatch', starts: 1 })
  })

  it('FP-10: replayed after its cause is fixed it is done, with one effect and an entry in the audit log', async () => {
    const order = (await createOrders(stack, 1))[0] ?? expect.unreachable()
    const event = paymentOf(order, { amount: order.amountDue + 500 })
    await using source = newSource()
    source.add(event)
    await source.run()
    const eventId = event.id
    const [record] = await until(
      () => stack.events.find({ eventId, state: 'dead' }).toArray(),
      (found) => found.length === 1,
    )
    const items = [{ sku: 'corrected', quantity: 1, unitAmount: event.amount }]
    const headers = { 'content-type': 'application/merge-patch+json', 'if-match': '"1"' }
    const patch = { method: 'PATCH', headers, body: JSON.stringify({ items }) }
    expect(await stack.orders.send(`/${order.id}`, patch)).toMatchObject({ status: 200 })

    const replay = { ids: [String(record?._id)], reason: 'the amount was corrected' }
    expect(await callOperator(stack, 'events.replay', replay)).toMatchObject({ matched: 1 })
    await untilEqual(() => stack.events.countDocuments({ eventId, state: 'done' }), 1)
    await stack.untilSettled()
    expect(await stack.orders.read(order.id)).toMatchObject({ status: 'paid', access: 'unlocked', version: 3 })
    expect((await stack.receipts()).filter(({ orderId }) => orderId === order.id)).toHaveLength(1)
    const audit = await callOperator(stack, 'audit.list', undefined)
    const entry = { by: 'operator', action: 'events.replay', reason: replay.reason, at: expect.any(String) }
    const details = expect.objectContaining({ orderId: order.id, version: 2 })
    const change = { by: 'api:tests', action: 'orders.patch', details }
    const both = [expect.objectContaining(entry), expect.objectContaining(change)]
    expect(audit).toMatchObject({ items: expect.arrayContaining(both) })
    log.push(...source.log)
    mended.push(order.id)
  })

  it('FP-10: delivered again once its cause is corrected it is done; closed by an operator it stays as it is', async () => {
    const [revived, closed] = await createOrders(stack, 2)
    if (revived === undefined || closed === undefined) throw new Error('There are no orders')
    const [first, second] = [revived, closed].map((order) => paymentOf(order, { amount: order.amountDue + 500 }))
    if (first === undefined || second === undefined) throw new Error('There are no events')
    await using source = newSource()
    for (const event of [first, second]) source.add(event)
    await source.run()
    const eventIds = [first.id, second.id]
    const dead = await until(
      () => stack.events.find({ eventId: { $in: eventIds }, state: 'dead' }).toArray(),
      (found) => found.length === 2,
    )
    const items = [{ sku: 'corrected', quantity: 1, unitAmount: first.amount }]
    const headers = { 'content-type': 'application/merge-patch+json', 'if-match': '"1"' }
    const patch = { method: 'PATCH', headers, body: JSON.stringify({ items }) }
    expect(await stack.orders.send(`/${revived.id}`, patch)).toMatchObject({ status: 200 })
    const id = String(dead.find(({ eventId }) => eventId === second.id)?._id)
    await callOperator(stack, 'events.close', { id, reason: 'the customer has the money back' })

    for (const event of [first, second]) source.add(event)
    await source.run()
    await untilEqual(() => stack.events.countDocuments({ eventId: first.id, state: 'done', 'again.revivals': 1 }), 1)
    await untilEqual(() => stack.events.countDocuments({ eventId: second.id, state: 'closed', deliveries: 2 }), 1)
    await stack.untilSettled()
    expect(await stack.orders.read(revived.id)).toMatchObject({ status: 'paid', version: 3 })
    expect(await stack.orders.read(closed.id)).toMatchObject({ status: 'pending', version: 1 })
    log.push(...source.log)
    mended.push(revived.id)
  })
})

describe('the order of events', () => {
  it(`FP-16: does not matter: ${PAIRS} failures before their success and ${PAIRS} after it all end paid`, async () => {
    await using source = newSource()
    const orders = await createOrders(stack, 2 * PAIRS)
    const pairs = orders.map((order) => ({
      success: paymentOf(order),
      failure: paymentOf(order, { type: 'payment.failed' }),
    }))
    for (const { failure } of pairs.slice(0, PAIRS)) source.add(failure)
    for (const { success } of pairs) source.add(success)
    for (const { failure } of pairs.slice(PAIRS)) source.add(failure)
    await source.run()
    await stack.untilSettled()
    log.push(...source.log)
    const ids = orders.map(({ id }) => id)
    expect(await stack.orderRecords.countDocuments({ _id: { $in: ids }, status: 'paid' })).toBe(2 * PAIRS)
    const late = pairs.slice(PAIRS).map(({ failure }) => failure.id)
    const superseded = { applied: { $elemMatch: { eventId: { $in: late }, outcome: 'superseded' } } }
    expect(await stack.orderRecords.countDocuments(superseded)).toBeGreaterThan(0)
    expect(source.accepted).toBe(4 * PAIRS)
  })

  it('FP-17: an event that arrives before its order waits for it and is applied once', async () => {
    await using source = newSource()
    const sample = (await createOrders(stack, 1))[0] ?? expect.unreachable()
    const ids = Array.from({ length: 20 }, (_, index) => `ord_late_${index}_${Date.now()}`)
    for (const id of ids) source.add(paymentOf({ ...sample, id }))
    await source.run()
    const waiting = { orderId: { $in: ids }, 'attempts.code': 'order_unknown' }
    await untilEqual(() => stack.events.countDocuments(waiting), ids.length)
    const content = { customerId: 'cus_late', currency: 'EUR', items: [{ sku: 's', quantity: 1, unitAmount: 2_000 }] }
    for (const id of ids) {
      const put = { method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify(content) }
      expect(await stack.orders.send(`/${id}`, put)).toMatchObject({ status: 201 })
    }
    await stack.untilSettled()
    log.push(...source.log)
    for (const id of ids) expect(await stack.orders.read(id)).toMatchObject({ status: 'paid', version: 2 })
  })
})

it('I1 to I11 hold over all of these', async () => {
  const poison = await stack.events.find({ state: 'dead' }).toArray()
  await stack.events.deleteMany({ state: 'dead' })
  expect(
    await stack.orderRecords.countDocuments({ 'applied.eventId': { $in: poison.map(({ eventId }) => eventId) } }),
  ).toBe(0)
  // The version of an order that was corrected by hand counts that change too.
  const byHand = mended.map((id) => `I3 ${id} has version 3 after 1 events`)
  const row = { struck: { 'an event that could not succeed': poison.length }, volume: 1_000 }
  expect(await closingCheck(stack, log, row)).toEqual(byHand)
})
