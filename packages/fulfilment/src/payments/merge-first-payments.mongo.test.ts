import { createDatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { type CommandStartedEvent, MongoClient } from 'mongodb'
import { Registry } from 'prom-client'
import { afterAll, describe, expect, it } from 'vitest'
import { newOrder, ORDER_INDEXES, ORDERS, type OrderDocument } from '../orders/stored/order-document.ts'
import { OWING_OUTBOX } from '../testing/owing-outbox.ts'
import { sampleEvent, sampleOrder } from '../testing/samples.ts'
import { applyEvents } from './apply-events.ts'
import type { PaymentEvent } from './payment-event.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const client = stack.use(await new MongoClient(database.uri.reveal(), { monitorCommands: true }).connect())
const db = client.db(database.name)
const orders = db.collection<OrderDocument>(ORDERS)
await ensureIndexes(db, [ORDER_INDEXES])

/** Inserts this number of unpaid sample orders. */
async function insertOrders(count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => `o_${crypto.randomUUID()}`)
  await orders.insertMany(ids.map((id) => newOrder(id, sampleOrder(), new Date())))
  return ids
}

/** Applies events in one call. All calls have the same id and time. */
function apply(events: readonly PaymentEvent[]) {
  const errors = createDatabaseErrors(new Registry())
  const clock = { now: () => Date.UTC(2026, 0, 1) }
  const { logger } = memoryLogger()
  const newCallId = (): string => 'call_1'
  return applyEvents({ db, errors, clock, logger, newCallId, receipts: OWING_OUTBOX }, events)
}

describe('first payments of one call', () => {
  it('become the same orders with one statement for all as with one for each', async () => {
    const ids = await insertOrders(4)
    const made = await orders.find().toArray()
    expect(await pay([ids])).toBe(1)
    const one = await readStored(ids)
    await orders.deleteMany({})
    await orders.insertMany(made)
    expect(await pay(ids.map((id) => [id]))).toBe(4)
    const each = await readStored(ids)
    expect(one).toEqual(each)
    expect(one).toMatchObject(Array(4).fill({ status: 'paid', version: 2, receipts: [{ state: 'owed' }] }))
    expect(one.map((order) => Object.keys(order))).toEqual(each.map((order) => Object.keys(order)))
  })

  it.each([
    ['its payment has paid another order', { paymentId: 'pay_taken' }, { refused: 'payment_used_elsewhere' }],
    ['it holds a receipt already', {}, { outcome: 'applied', version: 2 }],
  ])('are applied once each if one order differs: %s', async (_, about, expected) => {
    await orders.deleteMany({})
    const [before = '', first = '', odd = '', ...others] = await insertOrders(8)
    const isTaken = 'paymentId' in about
    await apply([sampleEvent({ orderId: before, paymentId: 'pay_taken' })])
    const earlier = (await orders.findOne({ _id: before }))?.receipts ?? []
    if (!isTaken) await orders.updateOne({ _id: odd }, { $set: { receipts: earlier } })
    const events = [first, odd, ...others].map((orderId) => sampleEvent({ orderId, ...(orderId === odd ? about : {}) }))
    const results = await apply(events)
    expect(results[1]).toMatchObject(expected)
    expect(results.toSpliced(1, 1)).toEqual(Array(6).fill({ outcome: 'applied', version: 2 }))
    const once = { version: 2, applied: { $size: 0 }, paidBy: { $size: 1 }, receipts: { $size: 1 } }
    expect(await orders.countDocuments({ _id: { $in: [first, ...others] }, status: 'paid', ...once })).toBe(6)
    const receipts = (await orders.findOne({ _id: odd }))?.receipts
    expect(receipts).toMatchObject(isTaken ? [] : [...earlier, { paymentId: `pay_${odd}` }])
  })
})

/** Pays the orders of each call, and returns how many statements changed them. */
async function pay(calls: readonly (readonly string[])[]): Promise<number> {
  let statements = 0
  const count = ({ command }: CommandStartedEvent): void => {
    if (command.update === ORDERS) statements += command.updates.length
  }
  client.on('commandStarted', count)
  for (const ids of calls) await apply(ids.map((orderId) => sampleEvent({ orderId })))
  client.off('commandStarted', count)
  return statements
}

/** The orders without the time at which the database changed them. */
async function readStored(ids: readonly string[]): Promise<OrderDocument[]> {
  const stored = await orders
    .find({ _id: { $in: [...ids] }, updatedAt: { $type: 'date' } }, { sort: { _id: 1 } })
    .toArray()
  return stored.map((order) => ({ ...order, updatedAt: new Date(0) }))
}
