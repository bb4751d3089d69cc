import { afterAll, describe, expect, it } from 'vitest'
import { newOrderId, openOrders } from '../testing/open-orders.ts'
import { sampleEvent, sampleOrder } from '../testing/samples.ts'

const system = await openOrders(process.env)
afterAll(() => system[Symbol.asyncDispose]())
const { orders, payments, stored, put, pay } = system

describe('orders.delete', () => {
  it('continues the version when the order is created again', async () => {
    const id = newOrderId()
    await put(id, sampleOrder({ note: 'old' }))
    await orders.delete.mutate({ id })
    const again = await orders.put.mutate({ id, order: sampleOrder(), ifNoneMatch: '*' })
    expect(again).toMatchObject({ created: true, order: { version: 3, status: 'pending' } })
    expect(again.order).not.toHaveProperty('note')
    expect(await orders.get.query({ id })).toEqual(again.order)
  })

  it('keeps payments, events and receipts, so that an order created again is not paid by the old payment', async () => {
    const id = newOrderId()
    await put(id, sampleOrder({ email: 'a@example.com' }))
    await pay(id)
    await orders.delete.mutate({ id })
    const tombstone = await stored.findOne({ _id: id })
    expect(tombstone).toMatchObject({
      status: 'deleted',
      version: 3,
      payment: {},
      paidBy: [{ marker: {} }],
      receipts: [{}],
    })
    expect(tombstone).not.toHaveProperty('items')
    const fresh = { orderId: id, eventId: 'evt_new', ifMatch: '*' }
    const refused = await payments.applyEvents.mutate({ events: [sampleEvent(fresh)] })
    expect(refused.results).toEqual([{ refused: 'order_deleted', retry: 'never' }])
    expect(await put(id)).toMatchObject({ status: 'pending', access: 'locked', payment: null, version: 4 })
    const again = await payments.applyEvents.mutate({ events: [sampleEvent(fresh), sampleEvent({ orderId: id })] })
    expect(again.results).toEqual([
      { outcome: 'already_paid', version: 4 },
      { outcome: 'duplicate', version: 2 },
    ])
    expect(await orders.get.query({ id })).toMatchObject({ status: 'pending', payment: null })
    const second = sampleEvent({ orderId: id, eventId: 'evt_2', paymentId: `pay2_${id}`, ifMatch: '"4"' })
    expect((await payments.applyEvents.mutate({ events: [second] })).results).toEqual([
      { outcome: 'applied', version: 5 },
    ])
    expect((await stored.findOne({ _id: id }))?.receipts).toHaveLength(2)
  })
})
