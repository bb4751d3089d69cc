import { startProfile } from '@oncehook/kernel/testing/profile'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { orderCollection } from '../testing/order-collection.ts'
import { receiptsOf } from '../testing/paid-receipts.ts'
import { listReceipts } from './list-receipts.ts'

const database = await orderCollection(process.env)
afterAll(() => database[Symbol.asyncDispose]())
const { db, orders } = database
beforeEach(() => orders.deleteMany({}))
const { payOrders } = receiptsOf(database)

describe('listReceipts', () => {
  it('pages through all receipts once, those of the newest orders first and those of deleted orders last', async () => {
    const ids = await payOrders(9)
    // Two orders of the same time, and two that were deleted.
    for (const [index, _id] of ids.entries()) {
      const createdAt = new Date(Date.UTC(2026, 10, index === 1 ? 1 : index + 1))
      await orders.updateOne({ _id }, { $set: { createdAt } })
    }
    const deleted = ids.slice(3, 5)
    await orders.updateMany({ _id: { $in: deleted } }, { $set: { status: 'deleted' }, $unset: { createdAt: '' } })
    const newestFirst = [
      ...ids.slice(5).toReversed(),
      ...ids.slice(2, 3),
      ...ids.slice(0, 2).toSorted().toReversed(),
      ...deleted.toSorted().toReversed(),
    ]
    const keys: string[] = []
    let after: string | undefined
    do {
      const page = await listReceipts(orders, { limit: 3, after })
      keys.push(...page.items.map(({ orderId }) => orderId))
      after = page.next ?? undefined
    } while (after !== undefined)
    expect(keys).toEqual(newestFirst)
  })

  it('continues behind an order that was deleted after its page was read', async () => {
    const ids = await payOrders(3)
    for (const [index, _id] of ids.entries()) {
      await orders.updateOne({ _id }, { $set: { createdAt: new Date(Date.UTC(2026, 10, index + 1)) } })
    }
    const { items, next } = await listReceipts(orders, { limit: 1 })
    expect(items.map(({ orderId }) => orderId)).toEqual(ids.slice(2))
    await orders.updateOne({ _id: ids[2] ?? '' }, { $set: { status: 'deleted' }, $unset: { createdAt: '' } })
    const rest = await listReceipts(orders, { limit: 2, after: next ?? expect.unreachable() })
    expect(rest.items.map(({ orderId }) => orderId)).toEqual(ids.slice(0, 2).toReversed())
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

  it('finds the parked receipts in their index, however many were sent', async () => {
    const [parked = '', ...others] = await payOrders(300)
    await orders.updateOne({ _id: parked }, { $set: { 'receipts.0.state': 'parked' } })
    const sent = { $set: { 'receipts.0.state': 'sent' }, $unset: { 'receipts.0.dueAt': '' } } as const
    await orders.updateMany({ _id: { $in: others } }, sent)
    await using profile = await startProfile(db)
    const page = await listReceipts(orders, { limit: 5, state: 'parked' })
    expect(page.items.map(({ orderId }) => orderId)).toEqual([parked])
    const plan = 'IXSCAN { receipts.dueAt: 1 }'
    // One search is for orders that exist, one for those that were deleted.
    const examined = { plan, keys: 1, documents: 1 }
    expect(await profile.examined('orders')).toEqual([examined, examined])
  })
})
