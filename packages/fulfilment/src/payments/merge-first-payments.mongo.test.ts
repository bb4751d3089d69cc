import type { CommandStartedEvent } from 'mongodb'
import { afterAll, describe, expect, it } from 'vitest'
import { ORDERS, type OrderDocument } from '../orders/stored/order-document.ts'
import { openPaymentPlace, type PaymentPlace } from '../testing/payment-place.ts'
import { sampleEvent } from '../testing/samples.ts'
import type { PaymentGuard } from './guard/payment-reservation.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const merging = stack.use(await openPaymentPlace(process.env, 'index'))
const single = stack.use(await openPaymentPlace(process.env, 'reservation'))

describe('first payments of one call', () => {
  it('become the same orders with one statement for all as with one for each', async () => {
    const ids = await merging.insertOrders(4)
    const made = await merging.orders.find().toArray()
    await single.orders.insertMany(made)
    expect(await payTogether(merging, { ids, guard: 'index' })).toBe(1)
    expect(await payTogether(single, { ids, guard: 'reservation' })).toBe(4)
    const [one, each] = [await storedIn(merging, ids), await storedIn(single, ids)]
    expect(one).toEqual(each)
    expect(one).toMatchObject(Array(4).fill({ status: 'paid', version: 2, receipts: [{ state: 'owed' }] }))
    expect(one.map((order) => Object.keys(order))).toEqual(each.map((order) => Object.keys(order)))
  })

  it.each([
    ['its payment has paid another order', { paymentId: 'pay_taken' }, { refused: 'payment_used_elsewhere' }],
    ['it holds a receipt already', {}, { outcome: 'applied', version: 2 }],
  ])('are applied once each if one order differs: %s', async (_, about, expected) => {
    await merging.orders.deleteMany({})
    const [before = '', first = '', odd = '', ...others] = await merging.insertOrders(8)
    const isTaken = 'paymentId' in about
    await merging.apply([sampleEvent({ orderId: before, paymentId: 'pay_taken' })], { guard: 'index' })
    const earlier = (await merging.orders.findOne({ _id: before }))?.receipts ?? []
    if (!isTaken) await merging.orders.updateOne({ _id: odd }, { $set: { receipts: earlier } })
    const events = [first, odd, ...others].map((orderId) => sampleEvent({ orderId, ...(orderId === odd ? about : {}) }))
    const results = await merging.apply(events, { guard: 'index' })
    expect(results[1]).toMatchObject(expected)
    expect(results.toSpliced(1, 1)).toEqual(Array(6).fill({ outcome: 'applied', version: 2 }))
    const once = { version: 2, applied: { $size: 1 }, paidBy: { $size: 1 }, receipts: { $size: 1 } }
    expect(await merging.orders.countDocuments({ _id: { $in: [first, ...others] }, status: 'paid', ...once })).toBe(6)
    const receipts = (await merging.orders.findOne({ _id: odd }))?.receipts
    expect(receipts).toMatchObject(isTaken ? [] : [...earlier, { paymentId: `pay_${odd}` }])
  })
})

interface Call {
  readonly ids: readonly string[]
  readonly guard: PaymentGuard
}

/** Pays orders in one call, and returns how many statements changed them. */
async function payTogether({ client, apply }: PaymentPlace, { ids, guard }: Call): Promise<number> {
  let statements = 0
  const count = ({ command }: CommandStartedEvent): void => {
    if (command.update === ORDERS) statements += command.updates.length
  }
  client.on('commandStarted', count)
  const clock = { now: () => Date.UTC(2026, 0, 1) }
  const events = ids.map((orderId) => sampleEvent({ orderId }))
  await apply(events, { guard, clock, newCallId: () => 'call_1' })
  client.off('commandStarted', count)
  return statements
}

/** The orders without the time at which the database changed them. */
async function storedIn({ orders }: PaymentPlace, ids: string[]): Promise<OrderDocument[]> {
  const stored = await orders.find({ _id: { $in: ids }, updatedAt: { $type: 'date' } }, { sort: { _id: 1 } }).toArray()
  return stored.map((order) => ({ ...order, updatedAt: new Date(0) }))
}
