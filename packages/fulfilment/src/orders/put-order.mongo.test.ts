import { afterAll, describe, expect, it } from 'vitest'
import { refusalOf } from '../testing/fulfilment-client.ts'
import { newOrderId, openOrders } from '../testing/open-orders.ts'
import { sampleOrder } from '../testing/samples.ts'

const system = await openOrders(process.env)
afterAll(() => system[Symbol.asyncDispose]())
const { orders, put, pay } = system

describe('orders.put', () => {
  it('is one creation for twenty identical calls in parallel', async () => {
    const id = newOrderId()
    const calls = Array.from({ length: 20 }, () => orders.put.mutate({ id, order: sampleOrder() }))
    const results = await Promise.all(calls)
    expect(results.filter(({ created }) => created)).toHaveLength(1)
    expect(new Set(results.map(({ order }) => JSON.stringify(order))).size).toBe(1)
  })

  it('has one winner among twenty calls with the same condition', async () => {
    const id = newOrderId()
    await put(id)
    const calls = Array.from({ length: 20 }, (_, index) =>
      orders.put.mutate({ id, order: sampleOrder({ note: `${index}` }), ifMatch: '"1"' }),
    )
    const results = await Promise.allSettled(calls)
    const won = results.filter(({ status }) => status === 'fulfilled')
    expect(won).toHaveLength(1)
    expect(await orders.get.query({ id })).toEqual((won[0] as PromiseFulfilledResult<{ order: object }>).value.order)
  })

  it('has one winner among twenty calls that want to create', async () => {
    const id = newOrderId()
    const calls = Array.from({ length: 20 }, (_, index) =>
      orders.put.mutate({ id, order: sampleOrder({ note: `${index}` }), ifNoneMatch: '*' }),
    )
    const results = await Promise.allSettled(calls)
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    const lost = results.flatMap((result) => (result.status === 'rejected' ? [result.reason.data] : []))
    expect(lost).toEqual(Array(19).fill(expect.objectContaining({ reason: 'precondition_failed', httpStatus: 412 })))
  })

  it('keeps the items and the currency of a paid order, and nothing else', async () => {
    const id = newOrderId()
    await put(id)
    await pay(id)
    const dearer = sampleOrder({ items: [{ sku: 'book', quantity: 3, unitAmount: 150 }] })
    expect(await refusalOf(orders.put.mutate({ id, order: dearer }))).toMatchObject({
      reason: 'order_paid',
      httpStatus: 409,
    })
    expect(await refusalOf(orders.put.mutate({ id, order: sampleOrder({ currency: 'USD' }) }))).toMatchObject({
      httpStatus: 409,
    })
    const order = await put(id, sampleOrder({ customerId: 'cus_2', note: 'thanks' }))
    expect(order).toMatchObject({ status: 'paid', access: 'unlocked', version: 3, customerId: 'cus_2', note: 'thanks' })
  })
})
