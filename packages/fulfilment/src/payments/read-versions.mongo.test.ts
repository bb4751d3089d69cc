import { afterAll, describe, expect, it } from 'vitest'
import { ORDERS } from '../orders/stored/order-document.ts'
import { newOrderId, openOrders } from '../testing/open-orders.ts'

const system = await openOrders(process.env)
afterAll(() => system[Symbol.asyncDispose]())
const { fulfilment, payments, put } = system

describe('payments.versions', () => {
  it('gives the version of each order, and null for one that does not exist, whatever its id', async () => {
    const id = newOrderId()
    await put(id)
    const odd = ['__proto__', 'constructor', 'a b', '$where', 'ü']
    const versions = await payments.versions.query({ orderIds: [id, ...odd] })
    expect(Object.entries(versions)).toEqual([[id, 1], ...odd.map((name) => [name, null])])
  })

  it('takes a version that is none for none, and still answers for the others', async () => {
    const [id, text, object] = [newOrderId(), newOrderId(), newOrderId()]
    for (const one of [id, text, object]) await put(one)
    await fulfilment.db.collection<{ _id: string }>(ORDERS).updateOne({ _id: text }, { $set: { version: '"1"' } })
    await fulfilment.db.collection<{ _id: string }>(ORDERS).updateOne({ _id: object }, { $set: { version: {} } })
    const versions = await payments.versions.query({ orderIds: [id, text, object] })
    expect(versions).toEqual({ [id]: 1, [text]: null, [object]: null })
  })
})
