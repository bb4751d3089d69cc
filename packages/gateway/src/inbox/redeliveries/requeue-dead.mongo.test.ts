import { randomUUID } from 'node:crypto'
import { fulfilmentClient } from '@oncehook/fulfilment/testing/fulfilment-client'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, describe, expect, it } from 'vitest'
import { PROVIDERS, paymentEvent, startOperatedSystem } from '../../testing/start-operated-system.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const system = stack.use(await startOperatedSystem(database))
const { orders } = fulfilmentClient(system.fulfilment)

/** Sends a delivery of a payment with the wrong amount and waits until it is dead. */
async function deadEvent(): Promise<{ eventId: string; orderId: string; body: object }> {
  const eventId = randomUUID()
  const orderId = await system.order()
  const body = paymentEvent(eventId, { orderId, amount: 600 })
  expect(await system.deliver(body)).toBe(200)
  await system.until(eventId, ({ state }) => state === 'dead')
  return { eventId, orderId, body }
}

describe('a delivery of an event that is dead', () => {
  it('FP-10: makes it due again, and it takes effect once its cause is fixed', async () => {
    const { eventId, orderId, body } = await deadEvent()
    const items = [{ sku: 'book', quantity: 4, unitAmount: 150 }]
    await orders.patch.mutate({ id: orderId, patch: { items }, ifMatch: '*' })
    expect(await system.deliver(body)).toBe(200)
    const done = await system.until(eventId, ({ state }) => state === 'done')
    expect(done).toMatchObject({ reason: null, deliveries: 2, mismatches: 0 })
    expect(done.attempts.at(-1)).toMatchObject({ outcome: 'applied' })
    expect(await orders.get.query({ id: orderId })).toMatchObject({ status: 'paid', version: 3 })
    const requeued = expect.objectContaining({ msg: 'event.revived', eventId })
    await expect.poll(() => system.gateway.logs).toContainEqual(requeued)
  })

  it('reads it by a mapping that was corrected meanwhile', async () => {
    const eventId = randomUUID()
    const orderId = await system.order()
    const object = { id: 'pay_mapped', orderId: 'ord_of_nobody', amount: 300, currency: 'eur' }
    const body = { id: eventId, type: 'payment.succeeded', livemode: true, data: { object }, shop: { ref: orderId } }
    // The other tests read acme by its mapping.
    const deliver = () => system.deliver(body, { provider: 'shop' })
    await deliver()
    await system.until(eventId, ({ state }) => state === 'pending')
    await system.events.updateOne(
      { eventId },
      { $set: { state: 'dead', reason: 'order_unknown' }, $unset: { dueAt: '' } },
    )
    await system.writeProviders({ ...PROVIDERS, shop: { ...PROVIDERS.shop, read: { order: '/shop/ref' } } })
    await expect.poll(() => system.gateway.logs.some(({ msg }) => msg === 'providers.changed')).toBe(true)
    await deliver()
    expect(await system.until(eventId, ({ state }) => state === 'done')).toMatchObject({ orderId })
    expect(await orders.get.query({ id: orderId })).toMatchObject({ status: 'paid' })
  })
})
