import { randomUUID } from 'node:crypto'
import { fulfilmentClient } from '@oncehook/fulfilment/testing/fulfilment-client'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, describe, expect, it } from 'vitest'
import { sampleRecord } from '../testing/sample-record.ts'
import { paymentEvent, startOperatedSystem } from '../testing/start-operated-system.ts'
import type { EventDocument } from './event-document.ts'
import { stripOldBodies } from './strip-old-bodies.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const settings = { EVENT_RETENTION_DAYS: '30', RETRY_MAX_AGE_MS: '1000' }
const system = stack.use(await startOperatedSystem(database, { settings }))
const { orders } = fulfilmentClient(system.fulfilment)
const going = new AbortController().signal

const DAYS_MS = 30 * 86_400_000
const PAST = new Date(Date.now() - 1_000)

async function settled(eventId: string, state: EventDocument['state']): Promise<EventDocument> {
  return system.until(eventId, (record) => record.state === state)
}

async function strip(eventId: string): Promise<EventDocument> {
  await system.events.updateOne({ eventId }, { $set: { stripAt: PAST } })
  await stripOldBodies(database.db, going)
  return system.record(eventId)
}

describe('a record whose scheme signs a time', () => {
  it('goes as a whole once it is settled for so many days, by the index of the database', async () => {
    const done = randomUUID()
    const unhandled = randomUUID()
    await system.deliver(paymentEvent(done, { orderId: await system.order() }))
    await system.deliver(paymentEvent(unhandled, {}, 'customer.created'))
    for (const record of [await settled(done, 'done'), await settled(unhandled, 'unhandled')]) {
      expect(record.expireAt?.getTime()).toBe((record.settledAt?.getTime() ?? 0) + DAYS_MS)
      expect(record).not.toHaveProperty('stripAt')
    }
    const indexes = await system.events.indexes()
    expect(indexes).toContainEqual(expect.objectContaining({ key: { expireAt: 1 }, expireAfterSeconds: 0 }))
  })

  it('stays as long as it is dead, and as long as it is not settled again after a replay', async () => {
    const id = randomUUID()
    await system.deliver(paymentEvent(id, { orderId: await system.order(), amount: 1 }))
    const dead = await settled(id, 'dead')
    expect(dead).not.toHaveProperty('expireAt')
    expect(dead).not.toHaveProperty('stripAt')

    const expireAt = new Date(Date.now() + 600_000)
    const done = sampleRecord({ type: 'payment.succeeded', orderId: 'ord_unknown', expireAt })
    await system.events.insertOne(done)
    const ids = [String(done._id)]
    await system.operator().events.replay.mutate({ ids, reason: 'keep it for now', includeDone: true })
    const again = await system.until(done.eventId, ({ replays }) => replays?.length === 1)
    expect(again).not.toHaveProperty('expireAt')
  })
})

describe('a record whose scheme signs no time', () => {
  it('keeps its key for ever and loses its body, so that an old capture can never count again', async () => {
    const id = randomUUID()
    const orderId = await system.order()
    const body = paymentEvent(id, { orderId })
    expect(await system.deliver(body, { provider: 'shop' })).toBe(200)
    const done = await settled(id, 'done')
    expect(done.stripAt?.getTime()).toBe((done.settledAt?.getTime() ?? 0) + DAYS_MS)
    expect(done).not.toHaveProperty('expireAt')
    expect(done.raw.length()).toBeGreaterThan(0)

    const stripped = await strip(id)
    expect(stripped.raw.length()).toBe(0)
    expect(stripped).toMatchObject({ headers: {}, state: 'done', orderId, outcome: { kind: 'applied' } })
    expect(stripped).not.toHaveProperty('stripAt')
    const order = await orders.get.query({ id: orderId })

    expect(await system.deliver(body, { provider: 'shop' })).toBe(200)
    expect(await system.until(id, ({ deliveries }) => deliveries === 2)).toMatchObject({ state: 'done', mismatches: 0 })
    expect(await orders.get.query({ id: orderId })).toEqual(order)
  })

  it('loses its body also when nobody handles its type, and is replayed by what was read before', async () => {
    const unhandled = randomUUID()
    await system.deliver(paymentEvent(unhandled, {}, 'customer.created'), { provider: 'shop' })
    const record = await settled(unhandled, 'unhandled')
    expect(record.stripAt?.getTime()).toBe(record.receivedAt.getTime() + DAYS_MS)
    expect((await strip(unhandled)).raw.length()).toBe(0)

    const id = randomUUID()
    const orderId = await system.order()
    await system.deliver(paymentEvent(id, { orderId }), { provider: 'shop' })
    await settled(id, 'done')
    const { _id } = await strip(id)
    await system.operator().events.replay.mutate({ ids: [String(_id)], reason: 'again', includeDone: true })
    const again = await system.until(id, ({ replays, state }) => replays?.length === 1 && state === 'done')
    expect(again).toMatchObject({ orderId, outcome: { kind: 'duplicate' }, stripAt: expect.any(Date) })
  })

  it('keeps its body while the time has not come', async () => {
    const record = sampleRecord({ keepKey: true, stripAt: new Date(Date.now() + 60_000) })
    await system.events.insertOne(record)
    await stripOldBodies(database.db, going)
    expect((await system.record(record.eventId)).raw.length()).toBe(2)
  })
})
