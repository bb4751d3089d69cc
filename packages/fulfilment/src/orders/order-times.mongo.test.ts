import { randomUUID } from 'node:crypto'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, describe, expect, it } from 'vitest'
import { fulfilmentClient } from '../testing/fulfilment-client.ts'
import { sampleEvent, sampleOrder } from '../testing/samples.ts'
import { startFulfilment } from '../testing/start-fulfilment.ts'
import type { Order } from './order.ts'
import { ORDERS, type OrderDocument } from './stored/order-document.ts'

const HOUR_MS = 3_600_000
const SECONDS_MS = 60_000

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const settings = { uri: database.uri, database: database.name }
const ahead = await startSkewed(HOUR_MS)
const behind = await startSkewed(-HOUR_MS)
const stored = database.db.collection<OrderDocument>(ORDERS)

async function startSkewed(byMs: number) {
  const fulfilment = stack.use(await startFulfilment({ ...settings, clock: { now: () => Date.now() + byMs } }))
  return fulfilmentClient(fulfilment)
}

/** Creates orders one after the other, by create, put and create with a key. Returns their ids in this order. */
async function makeSome(): Promise<string[]> {
  const made: string[] = []
  for (const { orders } of [ahead, behind, ahead, behind]) {
    made.push((await orders.create.mutate({ order: sampleOrder() })).order.id)
    made.push((await orders.put.mutate({ id: randomUUID(), order: sampleOrder() })).order.id)
  }
  const idempotency = { principal: 'shop', key: randomUUID(), fingerprint: 'print' }
  made.push((await behind.orders.create.mutate({ order: sampleOrder(), idempotency })).order.id)
  return made
}

async function expectDatabaseTime(...times: string[]): Promise<void> {
  const { localTime } = await database.db.command({ hello: 1 })
  for (const time of times) expect(Math.abs(Date.parse(time) - localTime.getTime())).toBeLessThan(SECONDS_MS)
}

/** Checks that the answer is the stored order, with times from the database. */
async function expectStored(order: Order): Promise<void> {
  await expectDatabaseTime(order.createdAt, order.updatedAt)
  expect(await behind.orders.get.query({ id: order.id })).toEqual(order)
}

describe('with clocks two hours apart', () => {
  it('no page misses an order or repeats one while others are made', async () => {
    await stored.deleteMany({})
    const before = await makeSome()
    const read: string[] = []
    let after: string | undefined
    let meanwhile: string[] = []
    do {
      const page = await behind.orders.list.query({ limit: 3, ...(after === undefined ? {} : { after }) })
      read.push(...page.items.map(({ id }) => id))
      after = page.next ?? undefined
      if (meanwhile.length < 9) meanwhile = [...meanwhile, ...(await makeSome())]
    } while (after !== undefined)
    expect(read).toEqual(before.toReversed())
    const { items } = await ahead.orders.list.query({ limit: 100 })
    expect(items.map(({ id }) => id)).toEqual([...before, ...meanwhile].toReversed())
    await expectDatabaseTime(...items.flatMap(({ createdAt, updatedAt }) => [createdAt, updatedAt]))
  })

  it('every write sets the time of the database, and returns the stored order', async () => {
    for (const { orders, payments } of [ahead, behind]) {
      const id = randomUUID()
      const put = async (note: string) => (await orders.put.mutate({ id, order: sampleOrder({ note }) })).order
      await expectStored((await orders.create.mutate({ order: sampleOrder() })).order)
      const first = await put('first')
      await expectStored(first)
      const second = await put('second')
      await expectStored(second)
      expect(second.createdAt).toBe(first.createdAt)
      expect(second.updatedAt > first.updatedAt).toBe(true)
      await expectStored(await orders.patch.mutate({ id, patch: { note: null }, ifMatch: '*' }))
      await orders.delete.mutate({ id })
      const { deletedAt } = (await stored.findOne({ _id: id, status: 'deleted' })) as { deletedAt?: Date }
      await expectDatabaseTime(deletedAt?.toISOString() ?? '')
      const again = await put('again')
      await expectStored(again)
      expect(again.createdAt).toBe(again.updatedAt)
      await payments.applyEvents.mutate({ events: [sampleEvent({ orderId: id, ifMatch: '*' })] })
      await expectStored(await orders.get.query({ id }))
    }
  })
})
