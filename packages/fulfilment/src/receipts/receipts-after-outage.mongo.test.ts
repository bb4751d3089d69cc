import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { orderCollection } from '../testing/order-collection.ts'
import { outside, receiptsOf } from '../testing/paid-receipts.ts'

const database = await orderCollection(process.env)
afterAll(() => database[Symbol.asyncDispose]())
const { orders } = database
beforeEach(() => orders.deleteMany({}))
const { startWorker, payOrders, receiptOf } = receiptsOf(database)

// Nothing waits for these times: only what was tried has to wait for them.
const longWaits = { backoff: { baseMs: 600_000, capMs: 900_000 }, random: () => 0.9 }
const down = () => Promise.reject(Object.assign(new Error('down'), { code: 'ECONNREFUSED' }))
const countIn = (members: object) => () => orders.countDocuments({ receipts: { $elemMatch: members } })

describe('while the sink fails', () => {
  it('a few receipts are tried at a time, and all others follow the first that gets through, each once', async () => {
    const { sink, keys, behaves } = outside()
    behaves(down)
    await payOrders(1)
    await using _ = startWorker({ ...sink, atOnce: 1 }, longWaits)
    await expect.poll(countIn({ 'lastError.code': 'ECONNREFUSED' })).toBe(1)
    await payOrders(250)
    await expect.poll(countIn({ 'lastError.code': 'ECONNREFUSED' })).toBe(3)
    expect(keys().length).toBeLessThan(6)
    behaves(async () => {})
    await expect.poll(countIn({ state: 'owed', attempts: 0 })).toBe(0)
    await expect.poll(countIn({ state: 'sending' })).toBe(0)
    expect(new Set(keys()).size).toBe(keys().length)
  })

  it('a receipt waits for half a minute at most, but one that is refused for its own sake for its time', async () => {
    const { sink, taken, behaves } = outside(false)
    const [full = '', other = ''] = await payOrders(2)
    behaves(async () => {
      throw Object.assign(new Error('no'), { code: taken.at(-1)?.orderId === full ? 'EENVELOPE' : 'ECONNREFUSED' })
    })
    await using _ = startWorker({ ...sink, atOnce: 1, ownCodes: ['EENVELOPE'] }, longWaits)
    const waitOf = async (id: string) => {
      const { dueAt, lastError } = (await receiptOf(id)) ?? {}
      return Number(dueAt) - Number(lastError?.at)
    }
    await expect.poll(() => waitOf(full)).toBe(540_000)
    await expect.poll(() => waitOf(other)).toBe(27_000)
  })
})
