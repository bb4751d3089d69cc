import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { newOrder, type StoredReceipt } from '../orders/stored/order-document.ts'
import { orderCollection } from '../testing/order-collection.ts'
import { sampleOrder } from '../testing/samples.ts'
import { releaseAllReceipts, releaseReceipt } from './release-receipt.ts'

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
    await insertOrder('o2', [receipt('three', own)], 'bert@example.com')
    await orders.updateOne({ _id: 'o2' }, { $set: { status: 'deleted' }, $unset: { customerId: true, email: true } })
    await releaseReceipt(orders, 'three')
    expect(await receiptsOf('o2')).toMatchObject([{ state: 'owed', customerId: 'anna', email: 'anna@example.com' }])
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

describe('releaseAllReceipts', () => {
  const statesOf = async (id: string) => (await receiptsOf(id)).map(({ key, state }) => `${key} ${state}`)

  it('makes every parked receipt due, by the rules of a single one, and leaves all others', async () => {
    const anna = { customerId: 'anna', email: 'anna@example.com' }
    await insertOrder('o1', [receipt('one'), receipt('sent', { state: 'sent' }), receipt('two')], 'new@example.com')
    await insertOrder('o2', [receipt('three', anna), receipt('gone', { customerId: null })], 'bert@example.com')
    await insertOrder('o3', [receipt('owed', { state: 'owed', dueAt: new Date() })])
    expect(await releaseAllReceipts(orders, { after: null, dryRun: true })).toEqual({ receipts: 3, next: null })
    expect(await statesOf('o1')).toEqual(['one parked', 'sent sent', 'two parked'])
    expect(await releaseAllReceipts(orders, { after: null, dryRun: false })).toEqual({ receipts: 3, next: null })
    expect(await statesOf('o1')).toEqual(['one owed', 'sent sent', 'two owed'])
    expect(await statesOf('o2')).toEqual(['three owed', 'gone parked'])
    const emails = [...(await receiptsOf('o1')), ...(await receiptsOf('o2'))].map(({ email }) => email)
    expect(emails).toEqual(['new@example.com', null, 'new@example.com', 'anna@example.com', null])
    expect(await releaseAllReceipts(orders, { after: null, dryRun: false })).toEqual({ receipts: 0, next: null })
  })

  it('releases those of 1,000 orders at a time, and meets none twice that is parked again', async () => {
    const ids = Array.from({ length: 1_001 }, (_, index) => `o${String(index).padStart(4, '0')}`)
    const documents = ids.map((id) => ({ ...newOrder(id, sampleOrder(), new Date()), receipts: [receipt(id)] }))
    await orders.insertMany(documents)
    expect(await releaseAllReceipts(orders, { after: null, dryRun: true })).toEqual({ receipts: 1_001, next: null })
    const { receipts, next } = await releaseAllReceipts(orders, { after: null, dryRun: false })
    expect({ receipts, next }).toEqual({ receipts: 1_000, next: 'o0999' })
    expect(await statesOf('o1000')).toEqual(['o1000 parked'])
    await orders.updateOne({ _id: 'o0000' }, { $set: { 'receipts.0.state': 'parked', 'receipts.0.dueAt': null } })
    expect(await releaseAllReceipts(orders, { after: next, dryRun: false })).toEqual({ receipts: 1, next: null })
    expect(await statesOf('o0000')).toEqual(['o0000 parked'])
  })
})
