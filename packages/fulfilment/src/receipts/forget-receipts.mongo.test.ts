import { afterAll, describe, expect, it } from 'vitest'
import { newOrderId, openOrders } from '../testing/open-orders.ts'
import { sampleEvent, sampleOrder } from '../testing/samples.ts'
import { forgetReceipts } from './forget-receipts.ts'

const system = await openOrders(process.env)
afterAll(() => system[Symbol.asyncDispose]())
const { database, orders, payments, stored } = system
const going = new AbortController().signal

const DAY_MS = 86_400_000
const PAST = new Date(Date.now() - 1_000)

async function receiptOf(id: string) {
  return (await stored.findOne({ _id: id }))?.receipts[0]
}

/** An order whose receipt was sent. */
async function paidOrder(): Promise<string> {
  const id = newOrderId()
  await orders.put.mutate({ id, order: sampleOrder({ email: 'a@example.com' }) })
  await payments.applyEvents.mutate({ events: [sampleEvent({ orderId: id, ifMatch: '*' })] })
  await expect.poll(async () => (await receiptOf(id))?.state).toBe('sent')
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

  it('loses them as soon as it is sent, if its order was deleted before', async () => {
    const id = newOrderId()
    await orders.put.mutate({ id, order: sampleOrder({ email: 'a@example.com' }) })
    const paid = await receiptOf(await paidOrder())
    const { forgetAt: _, ...others } = paid ?? expect.unreachable()
    const owed = {
      ...others,
      key: `of ${id}`,
      state: 'owed' as const,
      dueAt: new Date(Date.now() + 600_000),
      sentAt: null,
    }
    await stored.updateOne({ _id: id }, { $set: { receipts: [owed] } })
    await orders.delete.mutate({ id })
    expect(await receiptOf(id)).toMatchObject({ customerId: 'cus_1', email: 'a@example.com' })
    await stored.updateOne({ _id: id }, { $set: { 'receipts.0.dueAt': PAST } })
    await expect.poll(async () => (await receiptOf(id))?.state).toBe('sent')
    await forgetReceipts(database.db, going)
    const { forgetWhenSent: __, ...kept } = (await receiptOf(id)) ?? {}
    expect(kept).toMatchObject({ state: 'sent', customerId: null, email: null })
    expect(kept).not.toHaveProperty('forgetAt')
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
})
