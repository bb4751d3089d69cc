import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { closingCheck } from '../support/closing-check.ts'
import type { ApiOrder } from '../support/records.ts'
import { paymentOf, type Stack, startStack } from '../support/stack.ts'
import { WebhookSource } from '../support/webhook-source.ts'

const PACE = { perSecond: 200, parallel: 100 }
const ORDERS = 250
const MIN_ACCEPTED = 1_000

/**
 * For every order a payment that failed and one that succeeded, the success twice; some events that nothing handles, some
 * that are spoiled. The orders follow each other in rounds, so that a kill finds all kinds in flight.
 */
function fill(source: WebhookSource, orders: readonly ApiOrder[]): void {
  const payments = orders.map((order) => paymentOf(order))
  for (const order of orders) source.add(paymentOf(order, { type: 'payment.failed', paymentId: `try_${order.id}` }))
  for (const payment of payments) source.add(payment)
  for (const order of orders.slice(0, 100)) source.add(paymentOf(order, { type: 'invoice.created' }))
  for (const order of orders.slice(0, 50)) source.add(paymentOf(order, { id: `evt_forged_${randomUUID()}` }), 'body')
  for (const payment of payments) source.add(payment)
  for (const payment of payments) source.add(payment)
}

async function createOrders(stack: Stack, count: number): Promise<ApiOrder[]> {
  const orders: ApiOrder[] = []
  while (orders.length < count) {
    orders.push(...(await Promise.all(Array.from({ length: 25 }, () => stack.orders.create()))))
  }
  return orders
}

/** As if the half minute had gone by for which a dead process holds the receipts that it was sending. */
async function outlastReceiptLeases(stack: Stack): Promise<void> {
  const sending = { 'receipts.state': 'sending' }
  await stack.orderRecords.updateMany(sending, [
    { $set: { receipts: { $map: { input: '$receipts', in: { $mergeObjects: ['$$this', DUE] } } } } },
  ])
}

const DUE = { $cond: [{ $eq: ['$$this.state', 'sending'] }, { dueAt: '$$NOW' }, {}] }

describe('under 200 deliveries a second', () => {
  it('gives every event answered 200 exactly one effect, whatever is killed', { timeout: 180_000 }, async () => {
    await using stack = await startStack()
    const { gateway, fulfilment } = stack
    await using source = new WebhookSource(stack.provider('acme'), PACE)
    fill(source, await createOrders(stack, ORDERS))
    const finished = source.run()

    await source.untilAccepted(150)
    const kills = [await gateway.kill('SIGKILL')]
    await gateway.restart()

    await source.untilAccepted(350)
    kills.push(await fulfilment.kill('SIGKILL'))
    await outlastReceiptLeases(stack)
    await source.untilAccepted(450)
    await fulfilment.restart()

    // Now the gateway while its events are at a fulfilment that does not answer: their claims die with it.
    await source.untilAccepted(600)
    fulfilment.pause()
    await source.untilAccepted(650)
    kills.push(await gateway.kill('SIGKILL'))
    fulfilment.resume()
    await gateway.restart()

    await source.untilAccepted(800)
    kills.push(await fulfilment.kill('SIGKILL'), await gateway.kill('SIGKILL'))
    await outlastReceiptLeases(stack)
    await Promise.all([fulfilment.restart(), gateway.restart()])

    await finished
    await stack.untilSettled()
    expect(await closingCheck(stack, source.log)).toEqual([])

    expect(kills.map(({ signal }) => signal)).toEqual(Array(5).fill('SIGKILL'))
    expect(source.accepted).toBeGreaterThanOrEqual(MIN_ACCEPTED)
    const unanswered = source.log.filter(({ answers }) => answers.includes(null))
    expect(unanswered.length, 'deliveries that the kills hit').toBeGreaterThan(0)
    const deferred = await stack.events.countDocuments({ 'attempts.code': 'unavailable' })
    expect(deferred, 'events that found fulfilment away').toBeGreaterThan(0)
    expect(gateway.countOf('event.taken-over'), 'claims that outlived their holder').toBeGreaterThan(0)
    expect(await stack.receipts()).toHaveLength(ORDERS)
  })
})
