import { randomUUID } from 'node:crypto'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, describe, expect, it } from 'vitest'
import { fulfilmentClient, refusalOf } from '../testing/fulfilment-client.ts'
import { sampleEvent, sampleOrder } from '../testing/samples.ts'
import { startFulfilment } from '../testing/start-fulfilment.ts'
import { ORDERS, type OrderDocument } from './order-document.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const fulfilment = stack.use(await startFulfilment({ uri: database.uri, database: database.name }))
const { orders, payments } = fulfilmentClient(fulfilment)
const stored = fulfilment.db.collection<OrderDocument>(ORDERS)

function newId(): string {
  return `o_${randomUUID()}`
}

async function put(id: string, order: unknown = sampleOrder()) {
  return (await orders.put.mutate({ id, order })).order
}

async function pay(id: string): Promise<void> {
  const { results } = await payments.applyEvents.mutate({ events: [sampleEvent({ orderId: id, ifMatch: '*' })] })
  expect(results).toMatchObject([{ outcome: 'applied' }])
}

describe('orders.put', () => {
  it('makes an order under an id that was not used, then changes nothing for the same order', async () => {
    const id = newId()
    const first = await orders.put.mutate({ id, order: sampleOrder() })
    expect(first).toMatchObject({ created: true, order: { id, version: 1, status: 'pending', amountDue: 300 } })
    const second = await orders.put.mutate({ id, order: sampleOrder() })
    expect(second).toEqual({ created: false, order: first.order })
    expect(await orders.get.query({ id })).toEqual(first.order)
  })

  it('replaces the whole: what is left out is gone', async () => {
    const id = newId()
    await put(id, sampleOrder({ note: 'first', email: 'a@example.com', metadata: { a: 'b' } }))
    const order = await put(id, sampleOrder({ metadata: { c: 'd' } }))
    expect(order).toMatchObject({ version: 2, metadata: { c: 'd' } })
    expect(order).not.toHaveProperty('note')
    expect(order).not.toHaveProperty('email')
    expect(await orders.get.query({ id })).toEqual(order)
  })

  it('takes back what it gave out', async () => {
    const id = newId()
    const order = await put(id, sampleOrder({ note: 'x' }))
    expect(await orders.put.mutate({ id, order })).toEqual({ order, created: false })
    const edited = await put(id, { ...order, note: 'y', status: 'paid', amountDue: 1, version: 99 })
    expect(edited).toMatchObject({ note: 'y', status: 'pending', amountDue: 300, version: 2 })
  })

  it('refuses another id in the body, an unknown member and a missing one, and changes nothing', async () => {
    const id = newId()
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
    const id = newId()
    const calls = Array.from({ length: 20 }, () => orders.put.mutate({ id, order: sampleOrder() }))
    const results = await Promise.all(calls)
    expect(results.filter(({ created }) => created)).toHaveLength(1)
    expect(new Set(results.map(({ order }) => JSON.stringify(order))).size).toBe(1)
  })

  it('lets all of twenty different calls through, one after the other', async () => {
    const id = newId()
    const calls = Array.from({ length: 20 }, (_, index) =>
      orders.put.mutate({ id, order: sampleOrder({ note: `${index}` }) }),
    )
    const versions = (await Promise.all(calls)).map(({ order }) => order.version)
    expect(versions.toSorted((one, other) => one - other)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1))
  })

  it('has one winner among twenty calls with the same condition', async () => {
    const id = newId()
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
    const id = newId()
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
    const id = newId()
    await put(id)
    const call = orders.put.mutate({ id, order: sampleOrder({ note: 'x' }), ifMatch })
    if (status === 200) expect((await call).order.version).toBe(2)
    else expect(await refusalOf(call)).toMatchObject({ httpStatus: status, ...(status === 412 ? { version: 1 } : {}) })
  })

  it('looks at the condition before the order', async () => {
    const id = newId()
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
      const refusal = await refusalOf(orders.put.mutate({ id: newId(), order: sampleOrder(), ifMatch }))
      expect(refusal).toMatchObject({ httpStatus: 412, version: null })
    }
  })

  it('keeps the items and the currency of a paid order, and nothing else', async () => {
    const id = newId()
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

describe('orders.patch', () => {
  function patch(id: string, change: unknown, ifMatch: string | undefined = '"1"') {
    return orders.patch.mutate({ id, patch: change, ...(ifMatch === undefined ? {} : { ifMatch }) })
  }

  it('merges, removes and keeps', async () => {
    const id = newId()
    await put(id, sampleOrder({ note: 'x', metadata: { a: '1', b: '2' } }))
    const order = await patch(id, { note: null, metadata: { a: null, c: '3' } })
    expect(order).toMatchObject({ version: 2, metadata: { b: '2', c: '3' }, customerId: 'cus_1' })
    expect(order).not.toHaveProperty('note')
    expect(await orders.get.query({ id })).toEqual(order)
  })

  it('changes nothing when the result is the same', async () => {
    const id = newId()
    const order = await put(id)
    expect(await patch(id, {})).toEqual(order)
    expect(await patch(id, { customerId: 'cus_1', status: 'pending', payment: null })).toEqual(order)
  })

  it('checks that the order is there, then that a version is named, then the version, then the patch', async () => {
    const id = newId()
    await put(id)
    const refusals = [
      await refusalOf(orders.patch.mutate({ id: newId(), patch: 1 })),
      await refusalOf(orders.patch.mutate({ id, patch: 1 })),
      await refusalOf(orders.patch.mutate({ id, patch: 1, ifMatch: '"9"' })),
      await refusalOf(orders.patch.mutate({ id, patch: 1, ifMatch: '"1"' })),
    ]
    expect(refusals.map(({ httpStatus, reason }) => [httpStatus, reason])).toEqual([
      [404, 'order_not_found'],
      [428, 'precondition_required'],
      [412, 'precondition_failed'],
      [422, 'patch_unprocessable'],
    ])
  })

  it.each([
    [[]],
    ['text'],
    [null],
    [{ status: 'paid' }],
    [{ access: 'unlocked' }],
    [{ amountDue: 1 }],
    [{ id: 'other' }],
    [{ version: 7 }],
    [{ createdAt: null }],
    [{ unknown: 1 }],
    [{ items: [] }],
    [{ customerId: null }],
    [{ currency: 'euro' }],
  ])('refuses %j and changes nothing', async (change) => {
    const id = newId()
    const order = await put(id)
    expect(await refusalOf(patch(id, change))).toMatchObject({ reason: 'patch_unprocessable', httpStatus: 422 })
    expect(await orders.get.query({ id })).toEqual(order)
  })

  it('refuses a member called __proto__', async () => {
    const id = newId()
    await put(id)
    const refusal = await refusalOf(patch(id, JSON.parse('{"__proto__":{"status":"paid"}}')))
    expect(refusal).toMatchObject({ httpStatus: 422 })
  })

  it('has one winner among fifty with the same condition', async () => {
    const id = newId()
    await put(id)
    const calls = Array.from({ length: 50 }, (_, index) => patch(id, { note: `${index}` }))
    const results = await Promise.allSettled(calls)
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    const lost = results.flatMap((result) => (result.status === 'rejected' ? [result.reason.data] : []))
    expect(lost).toEqual(Array(49).fill(expect.objectContaining({ httpStatus: 412, reason: 'precondition_failed' })))
    expect(await orders.get.query({ id })).toMatchObject({ version: 2 })
  })

  it('keeps the price of a paid order', async () => {
    const id = newId()
    await put(id)
    await pay(id)
    expect(await refusalOf(patch(id, { currency: 'USD' }, '"2"'))).toMatchObject({
      reason: 'order_paid',
      httpStatus: 409,
    })
    expect(await patch(id, { note: 'thanks' }, '"2"')).toMatchObject({ version: 3, note: 'thanks', status: 'paid' })
  })
})

describe('orders.delete', () => {
  it('deletes once and is content afterwards, whatever the condition', async () => {
    const id = newId()
    await put(id)
    expect(await refusalOf(orders.delete.mutate({ id, ifMatch: '"7"' }))).toMatchObject({ httpStatus: 412, version: 1 })
    expect(await orders.delete.mutate({ id, ifMatch: '"1"' })).toEqual({ deleted: true })
    expect(await orders.delete.mutate({ id, ifMatch: '"1"' })).toEqual({ deleted: false })
    expect(await orders.delete.mutate({ id: newId() })).toEqual({ deleted: false })
    expect(await refusalOf(orders.get.query({ id }))).toMatchObject({ reason: 'order_not_found', httpStatus: 404 })
    expect(await refusalOf(orders.patch.mutate({ id, patch: {}, ifMatch: '*' }))).toMatchObject({ httpStatus: 404 })
  })

  it('lets the version go on when the order is made anew', async () => {
    const id = newId()
    await put(id, sampleOrder({ note: 'old' }))
    await orders.delete.mutate({ id })
    expect(await payments.versions.query({ orderIds: [id] })).toEqual({ [id]: null })
    const again = await orders.put.mutate({ id, order: sampleOrder(), ifNoneMatch: '*' })
    expect(again).toMatchObject({ created: true, order: { version: 3, status: 'pending' } })
    expect(again.order).not.toHaveProperty('note')
    expect(await orders.get.query({ id })).toEqual(again.order)
  })

  it('keeps payments, events and receipts, so that an order made anew is not paid by the old payment', async () => {
    const id = newId()
    await put(id, sampleOrder({ email: 'a@example.com' }))
    await pay(id)
    await orders.delete.mutate({ id })
    const grave = await stored.findOne({ _id: id })
    expect(grave).toMatchObject({ status: 'deleted', version: 3, payment: {}, applied: [{}], receipts: [{}] })
    expect(grave).not.toHaveProperty('items')
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

describe('orders.list', () => {
  it('pages through all orders, newest first, without those deleted', async () => {
    await stored.deleteMany({})
    const ids = Array.from({ length: 7 }, newId)
    for (const id of ids) await put(id)
    await pay(ids[2] ?? '')
    await orders.delete.mutate({ id: ids[4] ?? '' })
    const pages: string[][] = []
    let after: string | undefined
    do {
      const page = await orders.list.query({ limit: 2, ...(after === undefined ? {} : { after }) })
      pages.push(page.items.map(({ id }) => id))
      after = page.next ?? undefined
    } while (after !== undefined)
    expect(pages.map(({ length }) => length)).toEqual([2, 2, 2])
    expect(pages.flat()).toEqual(ids.toReversed().filter((id) => id !== ids[4]))
    const paid = await orders.list.query({ limit: 5, status: 'paid' })
    expect(paid).toMatchObject({ items: [{ id: ids[2] }], next: null })
  })

  it('reads a page from the index alone, in its order', async () => {
    const plan = await stored
      .find({ status: { $in: ['pending', 'payment_failed', 'paid'] }, createdAt: { $lte: new Date() } })
      .sort({ createdAt: -1, _id: -1 })
      .limit(21)
      .explain('queryPlanner')
    const stages = JSON.stringify(plan.queryPlanner.winningPlan)
    expect(stages).toContain('SORT_MERGE')
    expect(stages).not.toContain('"SORT"')
  })

  it('refuses a cursor that is none and a limit out of bounds', async () => {
    for (const input of [{ limit: 2, after: 'x' }, { limit: 2, after: 'bnVsbA' }, { limit: 0 }, { limit: 101 }]) {
      expect(await refusalOf(orders.list.query(input))).toMatchObject({ reason: 'invalid_request', httpStatus: 400 })
    }
  })
})

describe('payments.versions', () => {
  it('tells the version of each order, and null for what is not there, whatever it is called', async () => {
    const id = newId()
    await put(id)
    const odd = ['__proto__', 'constructor', 'a b', '$where', 'ü']
    const versions = await payments.versions.query({ orderIds: [id, ...odd] })
    expect(Object.entries(versions)).toEqual([[id, 1], ...odd.map((name) => [name, null])])
  })

  it('answers for 500 long ids at once', async () => {
    const orderIds = Array.from({ length: 500 }, (_, index) => `${index}`.padStart(84, '€'))
    expect(Object.keys(await payments.versions.query({ orderIds }))).toHaveLength(500)
  })
})
