import { afterAll, describe, expect, it } from 'vitest'
import { refusalOf } from '../testing/fulfilment-client.ts'
import { newOrderId, openOrders } from '../testing/open-orders.ts'
import { sampleOrder } from '../testing/samples.ts'

const system = await openOrders(process.env)
afterAll(() => system[Symbol.asyncDispose]())
const { orders, put, pay } = system

describe('orders.put', () => {
  it('makes an order under an id that was not used, then changes nothing for the same order', async () => {
    const id = newOrderId()
    const first = await orders.put.mutate({ id, order: sampleOrder() })
    expect(first).toMatchObject({ created: true, order: { id, version: 1, status: 'pending', amountDue: 300 } })
    const second = await orders.put.mutate({ id, order: sampleOrder() })
    expect(second).toEqual({ created: false, order: first.order })
    expect(await orders.get.query({ id })).toEqual(first.order)
  })

  it('replaces the whole order: omitted properties are removed', async () => {
    const id = newOrderId()
    await put(id, sampleOrder({ note: 'first', email: 'a@example.com', metadata: { a: 'b' } }))
    const order = await put(id, sampleOrder({ metadata: { c: 'd' } }))
    expect(order).toMatchObject({ version: 2, metadata: { c: 'd' } })
    expect(order).not.toHaveProperty('note')
    expect(order).not.toHaveProperty('email')
    expect(await orders.get.query({ id })).toEqual(order)
  })

  it('refuses another id in the body, an unknown property and a missing one, and changes nothing', async () => {
    const id = newOrderId()
    const before = await put(id)
    const refusals = [
      { ...sampleOrder(), id: 'other' },
      { ...sampleOrder(), x: 1 },
      { ...sampleOrder(), items: undefined },
    ]
    const codes = await Promise.all(refusals.map((order) => refusalOf(orders.put.mutate({ id, order }))))
    expect(codes.map(({ reason, httpStatus }) => [reason, httpStatus])).toEqual([
      ['id_mismatch', 409],
      ['invalid_request', 400],
      ['invalid_request', 400],
    ])
    expect(await orders.get.query({ id })).toEqual(before)
  })

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

  it.each([
    ['"1"', 200],
    ['*', 200],
    ['"zzz", "1"', 200],
    ['"2"', 412],
    ['W/"1"', 412],
    ['"zzz", W/"1"', 412],
    ['1', 400],
    ['', 400],
    ['*, "1"', 400],
  ])('answers If-Match %s with %i', async (ifMatch, status) => {
    const id = newOrderId()
    await put(id)
    const call = orders.put.mutate({ id, order: sampleOrder({ note: 'x' }), ifMatch })
    if (status === 200) expect((await call).order.version).toBe(2)
    else expect(await refusalOf(call)).toMatchObject({ httpStatus: status, ...(status === 412 ? { version: 1 } : {}) })
  })

  it('looks at the condition before the order', async () => {
    const id = newOrderId()
    await put(id)
    expect(await refusalOf(orders.put.mutate({ id, order: 'broken', ifMatch: '"9"' }))).toMatchObject({
      httpStatus: 412,
    })
    expect(await refusalOf(orders.put.mutate({ id, order: 'broken', ifMatch: '"1"' }))).toMatchObject({
      httpStatus: 400,
    })
  })

  it('meets no condition on an order that is not there', async () => {
    for (const ifMatch of ['*', '"1"']) {
      const refusal = await refusalOf(orders.put.mutate({ id: newOrderId(), order: sampleOrder(), ifMatch }))
      expect(refusal).toMatchObject({ httpStatus: 412, version: null })
    }
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
