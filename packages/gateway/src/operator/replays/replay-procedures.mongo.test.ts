import { randomUUID } from 'node:crypto'
import { fulfilmentClient, refusalOf } from '@oncehook/fulfilment/testing/fulfilment-client'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { ObjectId } from 'mongodb'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import type { EventDocument } from '../../inbox/event-document.ts'
import { sampleRecord } from '../../testing/sample-record.ts'
import { DEAD_SOON, PROVIDERS, paymentEvent, startOperatedSystem } from '../../testing/start-operated-system.ts'
import type { AuditEntry } from '../audit/audit.ts'
import { listReplays, REPLAYS, type ReplayProgress } from './replays.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const system = stack.use(await startOperatedSystem(database, { settings: DEAD_SOON }))
const alice = system.operator('alice')
const bob = system.operator('bob')
const { orders } = fulfilmentClient(system.fulfilment)
const audit = database.db.collection<AuditEntry>('audit')
const replays = database.db.collection(REPLAYS)
const reason = 'the cause is mended'

beforeEach(async () => {
  await Promise.all([audit.deleteMany(), replays.deleteMany()])
})

/** Sends a delivery of a payment with the wrong amount and waits until it is dead. */
async function deadEvent(): Promise<{ id: string; eventId: string; orderId: string }> {
  const eventId = randomUUID()
  const orderId = await system.order()
  expect(await system.deliver(paymentEvent(eventId, { orderId, amount: 600 }))).toBe(200)
  const { _id, reason: why } = await system.until(eventId, ({ state }) => state === 'dead')
  expect(why).toBe('amount_mismatch')
  return { id: String(_id), eventId, orderId }
}

/** Changes the order so that it costs what was paid. */
async function mendOrder(orderId: string): Promise<void> {
  const items = [{ sku: 'book', quantity: 4, unitAmount: 150 }]
  await orders.patch.mutate({ id: orderId, patch: { items }, ifMatch: '*' })
}

async function finished(replayId: string | null): Promise<ReplayProgress> {
  return expect
    .poll(() => alice.replays.get.query({ replayId: replayId ?? '' }))
    .toSatisfy(({ state, started, done, failed }: ReplayProgress) => state !== 'running' && started === done + failed)
    .then(() => alice.replays.get.query({ replayId: replayId ?? '' }))
}

async function insertDead(count: number, members: Partial<EventDocument> = {}): Promise<EventDocument[]> {
  const records = Array.from({ length: count }, () =>
    sampleRecord({ state: 'dead', reason: 'some_reason', ...members }),
  )
  await system.events.insertMany(records)
  return records
}

/** A record that another process holds. */
function heldRecord(provider = 'acme'): EventDocument {
  const dueAt = new Date(Date.now() + 50_000)
  return sampleRecord({ provider, state: 'processing', claim: 'of another process', dueAt })
}

/** Everything about an event that a replay changes. It must be the same if nothing changes. */
async function untouched(id: string): Promise<unknown> {
  return system.events.findOne({ _id: new ObjectId(id) })
}

/** Replays another event to its end. By then, an earlier replay would have shown an effect. */
async function replayAnother(): Promise<void> {
  const [other] = await insertDead(1, { provider: 'another' })
  const { replayId } = await alice.events.replay.mutate({ ids: [String(other?._id)], reason })
  await finished(replayId)
  expect(await replays.countDocuments()).toBe(1)
}

describe('events.replay', () => {
  it('settles an event as done once its cause is fixed, with one effect, and says who did it, when and why', async () => {
    const { id, eventId, orderId } = await deadEvent()
    await mendOrder(orderId)
    const asked = await alice.events.replay.mutate({ ids: [id], reason })
    expect(asked).toEqual({ replayId: expect.stringMatching(/^[0-9a-f]{24}$/), matched: 1 })
    await system.until(eventId, ({ state }) => state === 'done')
    expect(await finished(asked.replayId)).toEqual({
      ...{ state: 'finished', matched: 1, started: 1, done: 1, failed: 0, notRead: 0, by: 'alice', reason },
      ...{ startedAt: expect.any(String), finishedAt: expect.any(String) },
    })
    expect(await orders.get.query({ id: orderId })).toMatchObject({ status: 'paid', access: 'unlocked', version: 3 })
    const shown = await alice.events.get.query({ id })
    expect(shown).toMatchObject({ state: 'done', reason: null, outcome: { kind: 'applied', version: 3 } })
    expect(shown.replays).toEqual([{ at: expect.any(String), by: 'alice', reason, notRead: null }])
    expect(shown.attempts.map(({ outcome }) => outcome)).toEqual(['dead', 'applied'])
    const { items } = await alice.audit.list.query()
    expect(items).toMatchObject([
      { by: 'alice', action: 'events.replay', reason, details: { ids: [id], matched: 1, replayId: asked.replayId } },
    ])
    expect(Math.abs(Date.parse(items[0]?.at ?? '') - Date.now())).toBeLessThan(10_000)
  })

  it('has one effect and two entries in the audit log when two people press at once', async () => {
    const { id, eventId, orderId } = await deadEvent()
    await mendOrder(orderId)
    const people = [alice, bob]
    // A request during the processing is refused, but it is still recorded.
    const asked = await Promise.allSettled(people.map(({ events }) => events.replay.mutate({ ids: [id], reason })))
    expect(asked.some(({ status }) => status === 'fulfilled')).toBe(true)
    await system.until(eventId, ({ state }) => state === 'done')
    expect(await orders.get.query({ id: orderId })).toMatchObject({ status: 'paid', version: 3 })
    const { items } = await fulfilmentClient(system.fulfilment).receipts.list.query({ orderId, limit: 10 })
    expect(items).toHaveLength(1)
    expect((await alice.audit.list.query()).items.map(({ by }) => by).sort()).toEqual(['alice', 'bob'])
  })

  it('changes nothing for an event that is done by the time that it is pressed again', async () => {
    const { id, eventId, orderId } = await deadEvent()
    await mendOrder(orderId)
    await alice.events.replay.mutate({ ids: [id], reason })
    await system.until(eventId, ({ state }) => state === 'done')
    const before = await untouched(id)
    const again = await alice.events.replay.mutate({ ids: [id], reason })
    expect(again.matched).toBe(0)
    expect(await finished(again.replayId)).toMatchObject({ state: 'finished', matched: 0, started: 0 })
    expect(await untouched(id)).toEqual(before)
    expect((await alice.audit.list.query()).items).toHaveLength(2)
  })

  it('includes done events on request, without a second effect', async () => {
    const eventId = randomUUID()
    const orderId = await system.order()
    await system.deliver(paymentEvent(eventId, { orderId }))
    const { _id } = await system.until(eventId, ({ state }) => state === 'done')
    const before = await orders.get.query({ id: orderId })
    const { replayId, matched } = await alice.events.replay.mutate({ ids: [String(_id)], reason, includeDone: true })
    expect(matched).toBe(1)
    expect(await finished(replayId)).toMatchObject({ started: 1, done: 1 })
    const again = await system.record(eventId)
    expect(again).toMatchObject({ state: 'done' })
    expect(again.attempts.at(-1)).toMatchObject({ outcome: 'duplicate' })
    expect(await orders.get.query({ id: orderId })).toEqual(before)
  })

  it('selects the events that match a filter and no others', async () => {
    const provider = 'filtered'
    const [meant] = await insertDead(1, { provider, reason: 'wanted' })
    const [other] = await insertDead(1, { provider, reason: 'unwanted' })
    await system.events.insertOne(sampleRecord({ provider, reason: 'wanted' }))
    const filter = { provider, reason: 'wanted' }
    const { replayId, matched } = await alice.events.replay.mutate({ filter, reason })
    expect(matched).toBe(1)
    expect(await finished(replayId)).toMatchObject({ started: 1, done: 1 })
    expect(await system.record(meant!.eventId)).toMatchObject({ state: 'unhandled' })
    expect(await system.record(other!.eventId)).toMatchObject({ state: 'dead' })
    expect((await alice.audit.list.query()).items).toMatchObject([{ details: { filter, matched: 1 } }])
  })

  it('changes nothing and leaves nothing behind in a dry run', async () => {
    const provider = 'dry'
    const [first] = await insertDead(3, { provider })
    const before = await untouched(String(first?._id))
    const asked = await alice.events.replay.mutate({ filter: { provider }, reason, dryRun: true })
    expect(asked).toEqual({ replayId: null, matched: 3 })
    await refusalOf(alice.events.replay.mutate({ ids: ['0'.repeat(24)], reason, dryRun: true }))
    expect(await replays.countDocuments()).toBe(0)
    expect(await audit.countDocuments()).toBe(0)
    await replayAnother()
    expect(await untouched(String(first?._id))).toEqual(before)
  })

  it.each([['f'.repeat(24)], ['no-id']])('knows no event %s, and leaves the others as they are', async (unknown) => {
    const [record] = await insertDead(1)
    const id = String(record?._id)
    const before = await untouched(id)
    const refusal = await refusalOf(alice.events.replay.mutate({ ids: [id, unknown], reason }))
    expect(refusal).toMatchObject({ code: 'NOT_FOUND', reason: 'not_found' })
    expect(await replays.countDocuments()).toBe(0)
    expect((await alice.audit.list.query()).items).toMatchObject([{ by: 'alice', details: { refused: 'not_found' } }])
    await replayAnother()
    expect(await untouched(id)).toEqual(before)
  })

  it('refuses while one of them is being processed, and leaves the others as they are', async () => {
    const [record] = await insertDead(1)
    const busy = heldRecord()
    await system.events.insertOne(busy)
    const ids = [String(record?._id), String(busy._id)]
    const before = await Promise.all(ids.map(untouched))
    const refusal = await refusalOf(alice.events.replay.mutate({ ids, reason }))
    expect(refusal).toMatchObject({ code: 'CONFLICT', reason: 'events_busy' })
    expect(await replays.countDocuments()).toBe(0)
    await replayAnother()
    expect(await Promise.all(ids.map(untouched))).toEqual(before)
    await system.events.deleteOne({ _id: busy._id })
  })

  it('skips matching events that are being processed', async () => {
    const provider = 'busy'
    const busy = heldRecord(provider)
    await system.events.insertOne(busy)
    const { matched } = await alice.events.replay.mutate({ filter: { provider }, reason })
    expect(matched).toBe(0)
    await system.events.deleteOne({ _id: busy._id })
  })

  it('reads the body again, so that a corrected mapping takes effect', async () => {
    const eventId = randomUUID()
    const orderId = await system.order()
    await system.deliver({ ...paymentEvent(eventId), shop: { reference: orderId } }, { provider: 'shop' })
    const { _id } = await system.until(eventId, ({ state }) => state === 'dead')
    await system.writeProviders({ ...PROVIDERS, shop: { ...PROVIDERS.shop, read: { order: '/shop/reference' } } })
    await expect.poll(() => system.gateway.logs.some(({ msg }) => msg === 'providers.changed')).toBe(true)
    await alice.events.replay.mutate({ ids: [String(_id)], reason })
    expect(await system.until(eventId, ({ state }) => state === 'done')).toMatchObject({ orderId })
    expect(await orders.get.query({ id: orderId })).toMatchObject({ status: 'paid' })
  })

  it('does not include events that arrive after the request', async () => {
    const provider = 'growing'
    await insertDead(2, { provider })
    const { replayId } = await alice.events.replay.mutate({ filter: { provider }, reason, ratePerSecond: 1 })
    const [late] = await insertDead(1, { provider, receivedAt: new Date(Date.now() + 5_000) })
    expect(await finished(replayId)).toMatchObject({ matched: 2, started: 2 })
    expect(await system.record(late!.eventId)).toMatchObject({ state: 'dead' })
  })

  it.each([
    [{ ids: ['0'.repeat(24)] }],
    [{ ids: ['0'.repeat(24)], reason: '  ab ' }],
    [{ ids: ['0'.repeat(24)], reason: 'x'.repeat(201) }],
    [{ reason }],
    [{ ids: ['0'.repeat(24)], filter: {}, reason }],
    [{ ids: [], reason }],
    [{ ids: Array.from({ length: 1_001 }, () => '0'.repeat(24)), reason }],
    [{ filter: {}, reason, ratePerSecond: 0 }],
    [{ filter: {}, reason, ratePerSecond: 0.5 }],
    [{ filter: { orderid: 'x' }, reason }],
    [{ filter: {}, reason, dryrun: true }],
  ])('refuses %j', async (input) => {
    expect(await refusalOf(alice.events.replay.mutate(input as never))).toMatchObject({ code: 'BAD_REQUEST' })
    expect(await audit.countDocuments()).toBe(0)
  })
})

describe('replays.cancel', () => {
  it('makes no more events due, and says who cancelled', async () => {
    const provider = 'cancelled'
    await insertDead(20, { provider })
    const { replayId } = await alice.events.replay.mutate({ filter: { provider }, reason, ratePerSecond: 2 })
    await expect.poll(() => system.events.countDocuments({ provider, state: 'unhandled' })).toBeGreaterThan(0)
    const cancelled = await bob.replays.cancel.mutate({ replayId: replayId ?? '' })
    expect(cancelled).toMatchObject({ state: 'cancelled', matched: 20, finishedAt: expect.any(String) })
    // The process that works on a slice holds the replay in the meantime.
    const held = { $expr: { $gt: ['$leaseUntil', '$$NOW'] } }
    await expect.poll(() => replays.countDocuments(held)).toBe(0)
    const after = await finished(replayId)
    expect(after.started).toBeLessThanOrEqual(cancelled.started + 2)
    // A later replay at the same pace shows that there was time for more.
    await insertDead(3, { provider: 'later' })
    const later = await bob.events.replay.mutate({ filter: { provider: 'later' }, reason, ratePerSecond: 2 })
    expect(await finished(later.replayId)).toMatchObject({ state: 'finished', started: 3 })
    expect(await alice.replays.get.query({ replayId: replayId ?? '' })).toEqual(after)
    expect(await system.events.countDocuments({ provider, state: 'dead' })).toBe(20 - after.started)
    expect((await alice.audit.list.query()).items).toMatchObject([
      { by: 'bob', action: 'events.replay' },
      { by: 'bob', action: 'replays.cancel', reason: null, details: { replayId, state: 'running' } },
      { by: 'alice', action: 'events.replay' },
    ])
  })
})

describe('replays.list', () => {
  it('shows the replays of all operators, newest first, each with what `replays.get` shows, page by page', async () => {
    const asked: string[] = []
    for (const operator of [alice, bob, alice]) {
      const [event] = await insertDead(1, { provider: 'another' })
      const { replayId } = await operator.events.replay.mutate({ ids: [String(event?._id)], reason })
      await finished(replayId)
      asked.unshift(String(replayId))
    }
    const first = await bob.replays.list.query({ limit: 2 })
    expect(first).toMatchObject({ items: [{ by: 'alice' }, { by: 'bob' }], next: asked[1] })
    const second = await bob.replays.list.query({ limit: 2, after: asked[1] })
    expect(second).toMatchObject({ items: [{ by: 'alice' }], next: null })
    const items = [...first.items, ...second.items]
    expect(items.map(({ replayId }) => replayId)).toEqual(asked)
    for (const { replayId, ...item } of items) expect(item).toEqual(await alice.replays.get.query({ replayId }))
  })

  it('leaves the events of a replay uncounted once the time for counting is over', async () => {
    const ids = (await insertDead(1, { provider: 'another' })).map(({ _id }) => String(_id))
    for (let repeated = 0; repeated < 2; repeated += 1) {
      await finished((await alice.events.replay.mutate({ ids, reason })).replayId)
    }
    const times = [0, 0, 5_000]
    const monotonicMs = () => times.shift() ?? 0
    const listed = await listReplays({ db: database.db, monotonicMs }, { limit: 10, after: null })
    expect(listed).toMatchObject([
      { state: 'finished', matched: 1, started: 1, done: 1, failed: 0 },
      { state: 'finished', matched: 1, started: null, done: null, failed: null },
    ])
  })
})
