import { randomUUID } from 'node:crypto'
import { startProfile } from '@oncehook/kernel/testing/profile'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { ORDERS } from '../orders/stored/order-document.ts'
import { orderCollection } from '../testing/order-collection.ts'
import { eventually, outside, receiptsOf } from '../testing/paid-receipts.ts'
import { createReceiptClaims } from './claims/receipt-claims.ts'
import { listReceipts, readReceiptBacklog } from './list-receipts.ts'
import { receiptRefused } from './receipt-sink.ts'

const database = await orderCollection(process.env)
afterAll(() => database[Symbol.asyncDispose]())
const { db, orders } = database
beforeEach(() => orders.deleteMany({}))
const { startWorker, payOrders, receiptOf, stateOf } = receiptsOf(database)

describe('ReceiptWorker', () => {
  it('sends owed receipts once, with their contents', async () => {
    const { sink, taken } = outside()
    const [id = ''] = await payOrders(1)
    await using _ = startWorker(sink)
    await eventually(stateOf(id)).toBe('sent')
    const key = (await receiptOf(id))?.key
    expect(taken).toEqual([
      {
        key,
        orderId: id,
        paymentId: `pay_${id}`,
        customerId: 'cus_1',
        email: 'a@example.com',
        amount: 300,
        currency: 'EUR',
        paidAt: expect.stringMatching(/^\d{4}-.*Z$/),
      },
    ])
    expect(await receiptOf(id)).toMatchObject({ attempts: 1, sentAt: expect.any(Date), lastError: null })
    expect(await orders.findOne({ _id: id })).toMatchObject({ version: 2 })
  })

  it('sends each of 300 once when three workers compete', async () => {
    const { sink, keys } = outside()
    const ids = await payOrders(300)
    await using _ = startWorker(sink)
    await using __ = startWorker(sink)
    await using ___ = startWorker(sink)
    await eventually(() => orders.countDocuments({ 'receipts.state': 'sent' })).toBe(ids.length)
    expect(new Set(keys()).size).toBe(300)
    expect(keys()).toHaveLength(300)
  })

  it('tries again under the same key when the sink fails', async () => {
    const { sink, taken, keys, behaves } = outside()
    behaves(async () => {
      if (taken.length < 3) throw Object.assign(new Error('down'), { code: 'ECONNREFUSED' })
    })
    const [id] = await payOrders(1)
    await using _ = startWorker(sink)
    await eventually(stateOf(id)).toBe('sent')
    expect(new Set(keys()).size).toBe(1)
    expect(taken).toHaveLength(3)
    expect(await receiptOf(id)).toMatchObject({ attempts: 3, lastError: null })
  })

  it('completes the receipts of a worker that died while sending, under the same key', async () => {
    const { sink, taken } = outside()
    const [id] = await payOrders(1)
    const dead = createReceiptClaims(db, { leaseMs: 300, maxWaitMs: 900_000, newClaimId: randomUUID })
    const [claim] = await dead.claim(10)
    expect(await stateOf(id)()).toBe('sending')
    await using _ = startWorker(sink)
    await eventually(stateOf(id)).toBe('sent')
    expect(taken).toMatchObject([{ key: claim?.receipt.key }])
    await dead.settle([{ claim: claim as NonNullable<typeof claim>, settlement: { state: 'parked', code: 'late' } }])
    expect(await receiptOf(id)).toMatchObject({ state: 'sent', fence: 2 })
  })

  it('parks an attempt of unknown outcome when the sink has no keys', async () => {
    const { sink, taken } = outside(false)
    const [id] = await payOrders(1)
    await createReceiptClaims(db, { leaseMs: 100, maxWaitMs: 900_000, newClaimId: randomUUID }).claim(10)
    await using _ = startWorker(sink)
    await eventually(stateOf(id)).toBe('parked')
    expect(taken).toEqual([])
    expect(await receiptOf(id)).toMatchObject({ lastError: { code: 'outcome_unknown' }, dueAt: null })
  })

  it('releases a claim unchanged if it may no longer begin it: a begun attempt stays one', async () => {
    const { sink, taken } = outside()
    const [begun] = await payOrders(1)
    await createReceiptClaims(db, { leaseMs: 0, maxWaitMs: 900_000, newClaimId: randomUUID }).claim(1)
    const [owed] = await payOrders(1)
    await using late = startWorker(sink, { leaseMs: 100, sendTimeoutMs: 1_000 })
    await eventually(() => late.settled.length).toBeGreaterThan(1)
    await late.worker.stop()
    expect(await receiptOf(begun)).toMatchObject({ state: 'sending', attempts: 1 })
    expect(await receiptOf(owed)).toMatchObject({ state: 'owed', attempts: 0 })
    expect(taken).toEqual([])
  })

  it('parks an attempt that hangs when the sink has no keys, and repeats it when it has', async () => {
    const hanging = outside(false)
    hanging.behaves(() => new Promise(() => {}))
    const [id] = await payOrders(1)
    await using first = startWorker(hanging.sink, { sendTimeoutMs: 50 })
    await eventually(stateOf(id)).toBe('parked')
    await first.worker.stop()
    const keyed = outside()
    keyed.behaves(() => (keyed.taken.length === 1 ? new Promise(() => {}) : Promise.resolve()))
    const [other] = await payOrders(1)
    await using _ = startWorker(keyed.sink, { sendTimeoutMs: 50 })
    await eventually(stateOf(other)).toBe('sent')
    expect(keyed.taken).toHaveLength(2)
  })

  it('parks a receipt that the sink refuses permanently, and no other receipt waits for it', async () => {
    const { sink, taken, behaves } = outside()
    const [bad, good] = await payOrders(2)
    behaves(async () => {
      if (taken.at(-1)?.orderId === bad) throw receiptRefused()
    })
    await using _ = startWorker(sink)
    await eventually(stateOf(good)).toBe('sent')
    await eventually(stateOf(bad)).toBe('parked')
    expect(await listReceipts(orders, { limit: 5, state: 'parked' })).toMatchObject({
      items: [{ orderId: bad }],
      next: null,
    })
  })

  it('examines only due receipts', async () => {
    const later = new Date(Date.now() + 600_000)
    await payOrders(300)
    await orders.updateMany({}, { $set: { 'receipts.$[].dueAt': later } })
    await payOrders(2)
    const claims = createReceiptClaims(db, { leaseMs: 2_500, maxWaitMs: 900_000, newClaimId: randomUUID })
    await using profile = await startProfile(db)
    expect(await claims.claim(10)).toHaveLength(2)
    const searches = (await profile.examined(ORDERS)).filter(({ plan }) => plan.includes('receipts.dueAt'))
    expect(searches.map(({ keys }) => keys < 20)).toEqual([true])
  })

  it('stops after the receipts in progress, and releases those that were not started', async () => {
    const { sink, taken, behaves } = outside()
    const gate = Promise.withResolvers<void>()
    behaves(() => gate.promise)
    await payOrders(60)
    const { worker, settled } = startWorker(sink)
    await eventually(() => taken.length).toBe(32)
    const stopped = worker.stop()
    gate.resolve()
    await stopped
    expect(settled.filter((state) => state === 'sent')).toHaveLength(32)
    expect(await orders.countDocuments({ 'receipts.state': 'owed', 'receipts.attempts': 0 })).toBe(28)
    expect(await readReceiptBacklog(orders)).toMatchObject({ unsettled: 28, parked: 0 })
    behaves(async () => {})
    await using _ = startWorker(sink)
    await eventually(() => orders.countDocuments({ 'receipts.state': 'sent' })).toBe(60)
    expect(taken).toHaveLength(60)
  })
})
