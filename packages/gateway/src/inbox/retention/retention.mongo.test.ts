import { randomUUID } from 'node:crypto'
import { fulfilmentClient } from '@oncehook/fulfilment/testing/fulfilment-client'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, describe, expect, it } from 'vitest'
import { openInbox, sampleArrival } from '../../testing/open-inbox.ts'
import { sampleRecord } from '../../testing/sample-record.ts'
import { DEAD_SOON, paymentEvent, startOperatedSystem } from '../../testing/start-operated-system.ts'
import type { EventDocument } from '../event-document.ts'
import { removeExpired } from './remove-expired.ts'
import { endFields } from './retention.ts'
import { stripOldBodies } from './strip-old-bodies.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const settings = { EVENT_RETENTION_DAYS: '30', ...DEAD_SOON }
const system = stack.use(await startOperatedSystem(database, { settings }))
const { orders } = fulfilmentClient(system.fulfilment)
const going = new AbortController().signal

const DAYS_MS = 30 * 86_400_000
const PAST = new Date(Date.now() - 1_000)
const LONG_AGO = new Date(0)
const RETENTION = { retentionMs: DAYS_MS, bodyRetentionMs: DAYS_MS }

async function settled(eventId: string, state: EventDocument['state']): Promise<EventDocument> {
  return system.until(eventId, (record) => record.state === state)
}

async function strip(eventId: string): Promise<EventDocument> {
  await system.events.updateOne({ eventId }, { $set: { stripAt: PAST, settledAt: LONG_AGO } })
  await stripOldBodies(database.db, RETENTION, going)
  return system.record(eventId)
}

describe('a record whose scheme signs a time', () => {
  it('is removed as a whole when its retention days after settling are over', async () => {
    const done = randomUUID()
    const unhandled = randomUUID()
    await system.deliver(paymentEvent(done, { orderId: await system.order() }))
    await system.deliver(paymentEvent(unhandled, {}, 'customer.created'))
    for (const record of [await settled(done, 'done'), await settled(unhandled, 'unhandled')]) {
      expect(record.expireAt?.getTime()).toBe((record.settledAt?.getTime() ?? 0) + DAYS_MS)
      expect(record).not.toHaveProperty('stripAt')
    }
    const both = { eventId: { $in: [done, unhandled] } }
    await system.events.updateMany(both, { $set: { expireAt: PAST } })
    await removeExpired(database.db, going)
    expect(await system.events.countDocuments(both)).toBe(0)
  })

  it('stays as long as it is dead, and as long as it is not settled again after a replay', async () => {
    const id = randomUUID()
    await system.deliver(paymentEvent(id, { orderId: await system.order(), amount: 1 }))
    const dead = await settled(id, 'dead')
    expect(dead).not.toHaveProperty('expireAt')

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
  it('keeps its key forever and loses its body, so that an old capture can never count again', async () => {
    const id = randomUUID()
    const orderId = await system.order()
    const body = paymentEvent(id, { orderId })
    expect(await system.deliver(body, { provider: 'shop' })).toBe(200)
    const done = await settled(id, 'done')
    expect(done.stripAt?.getTime()).toBe((done.settledAt?.getTime() ?? 0) + DAYS_MS)
    expect(done).not.toHaveProperty('expireAt')
    expect(done.raw.length()).toBeGreaterThan(0)

    const { _id, provider, bodyHash, receivedAt } = done
    expect(await strip(id)).toEqual({
      ...{ _id, provider, eventId: id, handler: 'fulfilment', bodyHash, receivedAt, state: 'done', reason: 'expired' },
      ...{ deliveries: 1, mismatches: 0 },
    })
    const [size] = await system.events
      .aggregate([{ $match: { _id } }, { $project: { bytes: { $bsonSize: '$$ROOT' } } }])
      .toArray()
    expect(size?.bytes).toBeLessThan(300)
    const order = await orders.get.query({ id: orderId })

    expect(await system.deliver(body, { provider: 'shop' })).toBe(200)
    expect(await system.until(id, ({ deliveries }) => deliveries === 2)).toMatchObject({ state: 'done', mismatches: 0 })
    expect(await system.deliver({ ...body, note: 'another body' }, { provider: 'shop' })).toBe(200)
    await system.until(id, ({ deliveries, mismatches }) => deliveries === 3 && mismatches === 1)
    expect(await orders.get.query({ id: orderId })).toEqual(order)
  })

  it('is shown by its key and never replayed, because nothing of it is left', async () => {
    const id = randomUUID()
    await system.deliver(paymentEvent(id, { orderId: await system.order() }), { provider: 'shop' })
    await settled(id, 'done')
    const { _id } = await strip(id)
    const { events } = system.operator()
    const shown = { id: String(_id), provider: 'shop', eventId: id, state: 'done', reason: 'expired', orderId: '' }
    expect(await events.list.query({ provider: 'shop', eventId: id })).toMatchObject({ items: [shown] })
    expect(await events.get.query({ id: String(_id), body: true })).toMatchObject({
      ...shown,
      raw: '',
      headers: {},
      attempts: [],
    })
    expect(await events.reverify.query({ id: String(_id) })).toMatchObject({ valid: false, failure: 'body_expired' })
    const again = { ids: [String(_id)], reason: 'again', includeDone: true }
    expect(await events.replay.mutate(again)).toMatchObject({ matched: 0 })
  })
})

describe('a body', () => {
  const bodyOf = ({ raw, headers, query, bodyId }: EventDocument) => ({
    ...{ bytes: raw.length(), headers: Object.keys(headers).length, query, bodyId },
  })
  const GONE = { bytes: 0, headers: 0, query: undefined, bodyId: undefined }

  it('FP-10: is removed from a dead event after its retention days, and the event stays dead and can be replayed', async () => {
    const id = randomUUID()
    const orderId = await system.order()
    await system.deliver(paymentEvent(id, { orderId, amount: 1 }))
    const dead = await settled(id, 'dead')
    expect(dead.stripAt?.getTime()).toBe((dead.settledAt?.getTime() ?? 0) + DAYS_MS)
    const stripped = await strip(id)
    expect(stripped).toMatchObject({ state: 'dead', reason: 'amount_mismatch', orderId, facts: { amount: 1 } })
    expect(stripped).not.toHaveProperty('stripAt')
    expect(bodyOf(stripped)).toEqual(GONE)

    const { events } = system.operator()
    const shown = { state: 'dead', reason: 'amount_mismatch', orderId, raw: '', headers: {} }
    expect(await events.get.query({ id: String(dead._id), body: true })).toMatchObject(shown)
    expect(await system.deliver(paymentEvent(id, { orderId, amount: 1 }))).toBe(200)
    await system.until(id, ({ deliveries, state }) => deliveries === 2 && state === 'dead')
    await orders.patch.mutate({
      ...{ id: orderId, ifMatch: '*' },
      patch: { items: [{ sku: 'pen', quantity: 1, unitAmount: 1 }] },
    })
    await events.replay.mutate({ ids: [String(dead._id)], reason: 'the order was wrong' })
    const done = await settled(id, 'done')
    expect(bodyOf(done)).toEqual(GONE)
    expect(await orders.get.query({ id: orderId })).toMatchObject({ status: 'paid' })
  })

  it('may go before its record, in every settled state', async () => {
    const bodyRetentionMs = DAYS_MS / 30
    const shorter = { retentionMs: DAYS_MS, bodyRetentionMs }
    await using open = await openInbox(database, shorter)
    const unhandled = { event: { ...sampleArrival('u').event, id: randomUUID(), type: 'customer.created' } }
    const handled = () => ({ event: { ...sampleArrival('h').event, id: randomUUID() } })
    const arrivals = [unhandled, handled(), handled(), handled()]
    for (const arrival of arrivals) await open.inbox.record(sampleArrival('x', { ...arrival, query: 'a=1' }))
    const keyed = sampleArrival('x', { ...handled(), signsTime: false })
    await open.inbox.record(keyed)
    const attempt = { ms: 1, outcome: 'applied', code: null, message: null }
    const ends = [
      { state: 'done', outcome: { kind: 'applied', version: 2 } },
      { state: 'unhandled', reason: 'not_expected' },
      { state: 'dead', reason: 'order_unknown' },
      { state: 'done', outcome: { kind: 'applied', version: 2 } },
    ] as const
    const claims = open.claims({ end: endFields(shorter) })
    await claims.settle(open.claimedOnInsert.map((claim, at) => ({ claim, settlement: ends[at] ?? ends[0], attempt })))
    const ids = [...arrivals, keyed].map(({ event }) => event.id)
    for (const id of ids) {
      const { stripAt, settledAt, expireAt, state } = await open.record(id)
      expect(stripAt?.getTime()).toBe((settledAt?.getTime() ?? 0) + bodyRetentionMs)
      const isRemoved = state !== 'dead' && id !== keyed.event.id
      expect(expireAt?.getTime()).toBe(isRemoved ? (settledAt?.getTime() ?? 0) + DAYS_MS : undefined)
    }
    await open.events.updateMany({ eventId: { $in: ids } }, { $set: { stripAt: PAST } })
    await stripOldBodies(database.db, shorter, going)
    for (const id of ids) {
      const record = await open.record(id)
      expect(bodyOf(record)).toEqual(GONE)
      const next = id === keyed.event.id ? (record.settledAt?.getTime() ?? 0) + DAYS_MS : undefined
      expect(record.stripAt?.getTime()).toBe(next)
      expect(record.orderId).toBe('ord_1')
    }
    await open.events.updateOne({ eventId: keyed.event.id }, { $set: { stripAt: PAST, settledAt: LONG_AGO } })
    await stripOldBodies(database.db, shorter, going)
    expect(await open.record(keyed.event.id)).toMatchObject({ state: 'done', reason: 'expired' })
  })
})
