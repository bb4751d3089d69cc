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
  it('shows other receipts, and the next pages, if other software wrote some of them', async () => {
    const ids = (await payOrders(7)).toSorted()
    const key = (id: string | undefined) => ({ _id: id ?? '' })
    await orders.updateOne(key(ids[1]), { $set: { receipts: { 0: 'none' } } as never })
    await orders.updateOne(key(ids[2]), { $set: { receipts: [null, 7, { state: 'owed' }] as never } })
    await orders.updateOne(key(ids[3]), { $set: { 'receipts.0.key': 3 } as never })
    await orders.updateOne(key(ids[4]), { $set: { 'receipts.0.paidAt': 'today', 'receipts.0.sentAt': 7 } as never })
    await orders.updateOne(key(ids[5]), { $set: { 'receipts.0.lastError': { code: 'x' } } as never })
    for (const state of [undefined, 'owed'] as const) {
      const shown: string[] = []
      for (let after: string | undefined; ; ) {
        const page = await listReceipts(orders, { limit: 1, state, after })
        shown.push(...page.items.map(({ orderId }) => orderId))
        if (page.next === null) break
        after = page.next
      }
      expect(shown).toEqual([ids[0], ids[4], ids[5], ids[6]])
    }
  })

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
