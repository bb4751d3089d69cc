import { setTimeout as sleep } from 'node:timers/promises'
import type { Filter } from 'mongodb'
import { describe, it, type TestContext } from 'vitest'
import type { OrderDocument } from '../orders/stored/order-document.ts'
import { orderCollection } from '../testing/order-collection.ts'
import { outside, receiptsOf } from '../testing/paid-receipts.ts'

// They wait for probes, so each has its own collection, and they wait at the same time.
describe.concurrent('after an outage of the sink', () => {
  // Nothing waits for these times.
  const longWaits = { backoff: { baseMs: 600_000, capMs: 900_000 }, random: () => 0.9 }
  const down = () => Promise.reject(Object.assign(new Error('down'), { code: 'ECONNREFUSED' }))

  /** A collection of a test. It waits with the test's own `expect`. */
  async function openReceipts({ expect }: TestContext) {
    const own = await orderCollection(process.env)
    const receipts = receiptsOf(own)
    const count = (filter: Filter<OrderDocument>) => () => own.orders.countDocuments(filter)
    const untilSent = (sent: number) => expect.poll(count({ 'receipts.state': 'sent' })).toBe(sent)
    const untilDeferred = (deferred: number) =>
      expect.poll(count({ 'receipts.lastError.code': 'ECONNREFUSED' })).toBe(deferred)
    return {
      ...{ ...receipts, untilSent, untilDeferred },
      /** Starts a worker whose sink is down, and waits until it has deferred receipts of new orders. */
      async deferReceipts({ sink, behaves }: ReturnType<typeof outside>, deferred: number) {
        behaves(down)
        await receipts.payOrders(deferred)
        const started = receipts.startWorker(sink, longWaits)
        await untilDeferred(deferred)
        return started
      },
      [Symbol.asyncDispose]: () => own[Symbol.asyncDispose](),
    }
  }

  it('all receipts follow as soon as one gets through, each once', async (context) => {
    const { expect } = context
    await using receipts = await openReceipts(context)
    const failing = outside()
    const { keys, behaves } = failing
    await using _ = await receipts.deferReceipts(failing, 250)
    behaves(async () => {})
    const before = keys().length
    await receipts.payOrders(1)
    await receipts.untilSent(251)
    expect(new Set(keys().slice(before)).size).toBe(251)
    expect(keys().slice(before)).toHaveLength(251)
  })

  it('the first gets through without a new payment, also at a worker that has seen no outage', async (context) => {
    await using receipts = await openReceipts(context)
    const failing = outside()
    const first = await receipts.deferReceipts(failing, 40)
    await first.worker.stop()
    failing.behaves(async () => {})
    await using _ = receipts.startWorker(failing.sink, longWaits)
    await receipts.untilSent(40)
  })

  it('all receipts follow at each of two workers', async (context) => {
    await using receipts = await openReceipts(context)
    const [mine, yours] = [outside(), outside()]
    for (const { behaves } of [mine, yours]) behaves(down)
    await receipts.payOrders(40)
    await using _ = receipts.startWorker(mine.sink, longWaits)
    await using __ = receipts.startWorker(yours.sink, longWaits)
    await receipts.untilDeferred(40)
    for (const { behaves } of [mine, yours]) behaves(async () => {})
    await receipts.untilSent(40)
  })

  it('and while it lasts, one receipt is tried now and then, not all', async (context) => {
    const { expect } = context
    await using receipts = await openReceipts(context)
    const failing = outside()
    const { taken } = failing
    await using _ = await receipts.deferReceipts(failing, 100)
    await expect.poll(() => taken.length).toBeGreaterThanOrEqual(102)
    expect(taken.length).toBeLessThan(110)
  })

  it('a receipt that the sink refused for its own sake waits for its time', async (context) => {
    const { expect } = context
    await using receipts = await openReceipts(context)
    const { sink, taken, behaves } = outside(false)
    const [full = ''] = await receipts.payOrders(1)
    behaves(async () => {
      if (taken.at(-1)?.orderId === full) throw Object.assign(new Error('full'), { code: 'EENVELOPE' })
    })
    const worker = receipts.startWorker({ ...sink, ownCodes: ['EENVELOPE'] }, longWaits)
    await using _ = worker
    await expect.poll(async () => (await receipts.receiptOf(full))?.lastError?.code).toBe('EENVELOPE')
    await receipts.payOrders(20)
    worker.worker.nudge()
    await receipts.untilSent(20)
    // Longer than a worker waits for its next look, which nothing shows if it finds nothing.
    await sleep(3_000)
    expect(await receipts.receiptOf(full)).toMatchObject({ attempts: 1, state: 'owed' })
  })

  it('a receipt that may have arrived is parked, never sent before its time', async (context) => {
    const { expect } = context
    await using receipts = await openReceipts(context)
    const { sink, taken, behaves } = outside(false)
    const [hung = ''] = await receipts.payOrders(1)
    behaves(() => new Promise(() => {}))
    const worker = receipts.startWorker(sink, { ...longWaits, sendTimeoutMs: 50 })
    await using _ = worker
    await expect.poll(receipts.stateOf(hung)).toBe('parked')
    behaves(async () => {})
    await receipts.payOrders(10)
    worker.worker.nudge()
    await receipts.untilSent(10)
    // As above.
    await sleep(2_500)
    expect(taken.filter(({ orderId }) => orderId === hung)).toHaveLength(1)
  })
})
