import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { newOrder, type StoredReceipt } from '../orders/stored/order-document.ts'
import { orderCollection } from '../testing/order-collection.ts'
import { sampleOrder } from '../testing/samples.ts'
import { releaseReceipt } from './release-receipt.ts'

const database = await orderCollection(process.env)
afterAll(() => database[Symbol.asyncDispose]())
const { orders } = database

beforeEach(async () => {
  await orders.deleteMany()
})

function receipt(key: string, members: Partial<StoredReceipt> = {}): StoredReceipt {
  return {
    ...{ key, paymentId: `pay_${key}`, customerId: 'cus_1', email: null, amount: 300, currency: 'EUR' },
    ...{ paidAt: new Date(), state: 'parked', fence: 3, dueAt: null, attempts: 2, sentAt: null },
    lastError: { code: 'receipt_refused', at: new Date() },
    ...members,
  }
}

async function insertOrder(id: string, receipts: readonly StoredReceipt[], email?: string): Promise<void> {
  const content = email === undefined ? sampleOrder() : sampleOrder({ email })
  await orders.insertOne({ ...newOrder(id, content, new Date()), receipts })
}

async function receiptsOf(id: string): Promise<readonly StoredReceipt[]> {
  return (await orders.findOne({ _id: id }))?.receipts ?? []
}

describe('releaseReceipt', () => {
  it('makes a parked receipt due now, and leaves its key, its fence and its attempts as they are', async () => {
    const parked = receipt('one')
    await insertOrder('o1', [parked])
    const before = Date.now()
    expect(await releaseReceipt(orders, 'one')).toEqual({ key: 'one', orderId: 'o1' })
    const [released] = await receiptsOf('o1')
    expect(released).toEqual({ ...parked, state: 'owed', dueAt: expect.any(Date) })
    expect(Number(released?.dueAt)).toBeGreaterThan(before - 5_000)
    expect(Number(released?.dueAt)).toBeLessThan(Date.now() + 5_000)
  })

  it('sends it to the address that the order has now', async () => {
    await insertOrder('o1', [receipt('one'), receipt('two', { email: 'old@example.com' })], 'new@example.com')
    await releaseReceipt(orders, 'one')
    await releaseReceipt(orders, 'two')
    expect((await receiptsOf('o1')).map(({ email }) => email)).toEqual(['new@example.com', 'new@example.com'])
  })

  it('sends it to nobody else if the order has another customer now, or was deleted', async () => {
    const own = { customerId: 'anna', email: 'anna@example.com' }
    await insertOrder('o1', [receipt('one', own), receipt('two', { ...own, email: null })], 'bert@example.com')
    await releaseReceipt(orders, 'one')
    await releaseReceipt(orders, 'two')
    expect((await receiptsOf('o1')).map(({ email }) => email)).toEqual(['anna@example.com', null])
  })

  it('does not revive a receipt whose customer was removed', async () => {
    await insertOrder('o1', [receipt('one', { customerId: null }), receipt('two')])
    await expect(releaseReceipt(orders, 'one')).rejects.toMatchObject({ code: 'receipt_not_parked' })
    expect((await receiptsOf('o1'))[0]).toMatchObject({ state: 'parked', dueAt: null })
  })

  it('changes neither the other receipts of the order nor its version', async () => {
    const others = [receipt('sent', { state: 'sent' }), receipt('two')]
    await insertOrder('o1', [...others, receipt('one')])
    const before = await orders.findOne({ _id: 'o1' })
    await releaseReceipt(orders, 'one')
    const after = await orders.findOne({ _id: 'o1' })
    expect(after?.receipts.slice(0, 2)).toEqual(others)
    expect({ ...after, receipts: [] }).toEqual({ ...before, receipts: [] })
  })

  it('releases it once, however many ask at the same time', async () => {
    await insertOrder('o1', [receipt('one')])
    const answers = await Promise.allSettled(Array.from({ length: 8 }, () => releaseReceipt(orders, 'one')))
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })

  it.each([['unknown'], ['$$this'], ['']])('knows no receipt %j', async (key) => {
    await insertOrder('o1', [receipt('one')])
    await expect(releaseReceipt(orders, key)).rejects.toMatchObject({ code: 'receipt_not_parked' })
  })
})
