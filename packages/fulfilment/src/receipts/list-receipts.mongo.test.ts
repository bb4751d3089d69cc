import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { orderCollection } from '../testing/order-collection.ts'
import { receiptsOf } from '../testing/paid-receipts.ts'
import { listReceipts } from './list-receipts.ts'

const database = await orderCollection(process.env)
afterAll(() => database[Symbol.asyncDispose]())
const { orders } = database
beforeEach(() => orders.deleteMany({}))
const { payOrders } = receiptsOf(database)

describe('listReceipts', () => {
  it('pages through all receipts once', async () => {
    const ids = await payOrders(7)
    const keys: string[] = []
    let after: string | undefined
    do {
      const page = await listReceipts(orders, { limit: 3, after })
      keys.push(...page.items.map(({ orderId }) => orderId))
      after = page.next ?? undefined
    } while (after !== undefined)
    expect(keys).toEqual(ids.toSorted())
  })

  it('shows the receipts of one order, in one state', async () => {
    const [id = '', other] = await payOrders(2)
    await orders.updateOne({ _id: other ?? '' }, { $set: { 'receipts.0.state': 'sent' } })
    expect(await listReceipts(orders, { limit: 5, orderId: id })).toMatchObject({
      items: [{ orderId: id, state: 'owed' }],
    })
    expect((await listReceipts(orders, { limit: 5, state: 'sent' })).items).toHaveLength(1)
    expect((await listReceipts(orders, { limit: 5, state: 'owed', orderId: other })).items).toEqual([])
  })
})
