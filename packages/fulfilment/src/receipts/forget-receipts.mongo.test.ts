import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, describe, expect, it } from 'vitest'
import { newOrder, ORDERS, type OrderDocument } from '../orders/stored/order-document.ts'
import { newOrderId, openOrders } from '../testing/open-orders.ts'
import { sampleEvent, sampleOrder } from '../testing/samples.ts'
import { startFulfilment } from '../testing/start-fulfilment.ts'
import { dateSentReceipts } from './date-sent-receipts.ts'
import { forgetReceipts } from './forget-receipts.ts'

const system = await openOrders(process.env)
afterAll(() => system[Symbol.asyncDispose]())
const { database, fulfilment, orders, payments, stored } = system
const going = new AbortController().signal

const DAY_MS = 86_400_000
const PAST = new Date(Date.now() - 1_000)

async function receiptOf(id: string) {
  return (await stored.findOne({ _id: id }))?.receipts[0]
}

/** Somebody stored a text instead of a date. */
const ODD_RECEIPT = { $map: { input: '$receipts', in: { $mergeObjects: ['$$this', { sentAt: 'yesterday' }] } } }

/** An order whose receipt was sent. */
async function paidOrder(): Promise<string> {
  const id = newOrderId()
  await orders.put.mutate({ id, order: sampleOrder({ email: 'a@example.com' }) })
  await payments.applyEvents.mutate({ events: [sampleEvent({ orderId: id, ifMatch: '*' })] })
  await expect.poll(async () => (await receiptOf(id))?.state, { timeout: 10_000 }).toBe('sent')
  return id
}

describe('a receipt that was sent', () => {
  it('loses customer and e-mail after 90 days, and keeps its key', async () => {
    const [id, young] = [await paidOrder(), await paidOrder()]
    const sent = await receiptOf(id)
    expect(sent?.forgetAt?.getTime()).toBe((sent?.sentAt?.getTime() ?? 0) + 90 * DAY_MS)
    await forgetReceipts(database.db, going)
    expect(await receiptOf(id)).toEqual(sent)

    await stored.updateOne({ _id: id }, { $set: { 'receipts.0.forgetAt': PAST } })
    await forgetReceipts(database.db, going)
    const { forgetAt: _, ...kept } = sent ?? {}
    expect(await receiptOf(id)).toEqual({ ...kept, customerId: null, email: null })
    expect(await receiptOf(young)).toMatchObject({ customerId: 'cus_1', email: 'a@example.com' })
    expect(await orders.get.query({ id })).toMatchObject({ customerId: 'cus_1', email: 'a@example.com' })
    const again = await payments.applyEvents.mutate({ events: [sampleEvent({ orderId: id, ifMatch: '*' })] })
    expect(again.results).toMatchObject([{ outcome: 'duplicate' }])
  })

  it('loses them too if other orders have something else for receipts, however many', async () => {
    const id = await paidOrder()
    await stored.updateOne({ _id: id }, { $set: { 'receipts.0.forgetAt': PAST } })
    const odd = Array.from({ length: 200 }, (_, n) => ({ _id: `! ${n}`, receipts: { forgetAt: PAST } }))
    await stored.insertMany(odd as never[])
    await forgetReceipts(database.db, going)
    expect(await receiptOf(id)).toMatchObject({ customerId: null, email: null })
    expect(await stored.findOne({ _id: '! 0' })).toEqual(odd[0])
    await stored.deleteMany({ _id: { $in: odd.map(({ _id }) => _id) } })
  })

  it('is found by an index of what is to be forgotten', async () => {
    const isDue = { 'receipts.forgetAt': { $lte: PAST } }
    const plan = await stored.find(isDue, { hint: 'receipts_to_forget' }).explain('executionStats')
    expect(plan.executionStats).toMatchObject({ totalDocsExamined: 0 })
  })

  it('has a date for that even if release 0.1.0 sent it, because all orders are examined once a week', async () => {
    const [id, later] = [await paidOrder(), await paidOrder()]
    const walks = fulfilment.db.collection('housekeeping')
    const sentAt = (await receiptOf(id))?.sentAt?.getTime() ?? 0
    await stored.updateMany({}, { $unset: { 'receipts.$[].forgetAt': '' } })
    await walks.deleteMany({})
    await stored.updateOne({ _id: later }, [{ $set: { receipts: ODD_RECEIPT } }])
    await dateSentReceipts(database.db, DAY_MS, going)
    expect((await receiptOf(id))?.forgetAt?.getTime()).toBe(sentAt + DAY_MS)
    await stored.updateOne({ _id: later }, { $unset: { 'receipts.0.forgetAt': '' } })
    await dateSentReceipts(database.db, DAY_MS, going)
    expect(await receiptOf(later)).not.toHaveProperty('forgetAt')
    await walks.updateMany({}, { $set: { doneAt: new Date(Date.now() - 7 * DAY_MS) } })
    await dateSentReceipts(database.db, DAY_MS, going)
    expect(await receiptOf(later)).toHaveProperty('forgetAt')
  })
})

it('housekeeping that fails at one duty does the others', async () => {
  await using empty = await testDatabase(process.env)
  const sent = { key: 'r', paymentId: 'p', customerId: 'cus_1', email: null, amount: 1, currency: 'EUR', state: 'sent' }
  const times = { paidAt: PAST, sentAt: PAST, dueAt: null, fence: 1, attempts: 1, lastError: null }
  const receipt = { ...sent, ...times } as OrderDocument['receipts'][number]
  const made = empty.db.collection<OrderDocument>(ORDERS)
  const order = (id: string) => newOrder(id, sampleOrder(), PAST)
  await made.insertMany([
    { ...order('refused'), receipts: [{ ...receipt, forgetAt: PAST }] },
    { ...order('undated'), receipts: [receipt] },
  ])
  // The database refuses to forget the customer of any receipt.
  await empty.db.command({ collMod: ORDERS, validator: { 'receipts.customerId': { $ne: null } } })
  await using _ = await startFulfilment({ uri: empty.uri, database: empty.name })
  await expect.poll(() => made.countDocuments({ _id: 'undated', 'receipts.forgetAt': { $type: 'date' } })).toBe(1)
  expect(await made.findOne({ _id: 'refused' })).toMatchObject({ receipts: [{ customerId: 'cus_1' }] })
})
