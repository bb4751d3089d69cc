import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock } from '@oncehook/kernel/time/clock'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { orderCollection } from '../testing/order-collection.ts'
import { outside, receiptsOf } from '../testing/paid-receipts.ts'
import { createHttpsSink } from './sinks/https-sink.ts'

const database = await orderCollection(process.env)
afterAll(() => database[Symbol.asyncDispose]())
const { orders } = database
beforeEach(() => orders.deleteMany({}))
const { startWorker, payOrders, receiptOf } = receiptsOf(database)

// Nothing waits for these times: only what was tried has to wait for them.
const longWaits = { backoff: { baseMs: 600_000, capMs: 900_000 }, random: () => 0.9 }
const down = () => Promise.reject(Object.assign(new Error('down'), { code: 'ECONNREFUSED' }))
const countIn = (members: object) => () => orders.countDocuments({ receipts: { $elemMatch: members } })

/** A receiver over HTTP. It answers with `status`, and notes the keys that it accepts. */
async function receiver() {
  const there = { status: 200, accepted: [] as unknown[] }
  const server = createServer((request, response) => {
    if (there.status === 200) there.accepted.push(request.headers['idempotency-key'])
    response.writeHead(there.status).end()
    request.resume()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  return Object.assign(there, {
    sink: createHttpsSink({ url, fetch: globalThis.fetch, clock: systemClock, keys: [] }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  })
}

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

  it('none is parked because the receiver answers 401, and all are sent once when it answers 200', async () => {
    await using there = await receiver()
    there.status = 401
    await payOrders(40)
    await using started = startWorker(there.sink)
    await expect.poll(() => started.settled.length).toBeGreaterThanOrEqual(40)
    expect(new Set(started.settled)).toEqual(new Set(['owed']))
    there.status = 200
    await expect.poll(countIn({ state: 'sent' })).toBe(40)
    expect(await countIn({ state: 'parked' })()).toBe(0)
    expect(new Set(there.accepted).size).toBe(40)
    expect(there.accepted).toHaveLength(40)
  })
})
