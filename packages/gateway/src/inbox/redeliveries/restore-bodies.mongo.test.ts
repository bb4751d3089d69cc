import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { createTestKeys, NO_ENCRYPTION } from '@oncehook/kernel/testing/test-encryption'
import { ObjectId } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { readTasks } from '../../handlers/calls/read-tasks.ts'
import { openFreshInbox } from '../../testing/open-fresh-inbox.ts'
import { type OpenInbox, openInbox, sampleArrival } from '../../testing/open-inbox.ts'
import { BODIES, type BodyDocument } from '../bodies.ts'
import type { EventDocument } from '../event-document.ts'
import type { Arrival, InboxDeps } from '../inbox.ts'
import { eraseEvents } from '../retention/erase-events.ts'
import { stripOldBodies } from '../retention/strip-old-bodies.ts'
import { createEvidenceRoom } from './evidence-room.ts'

// Shorter than the horizon of the test provider, an hour.
const RETENTION = { retentionMs: 3_600_000, bodyRetentionMs: 60_000 }
const handlers = { takerOf: () => undefined }

async function openTasks(deps: Partial<InboxDeps> = {}): Promise<OpenInbox> {
  const database = await testDatabase(process.env)
  const open = await openInbox(database, { handlers, ...RETENTION, ...deps })
  return {
    ...open,
    async [Symbol.asyncDispose]() {
      await open[Symbol.asyncDispose]()
      await database[Symbol.asyncDispose]()
    },
  }
}

function delivery(id: string, members: Partial<Arrival> = {}): Arrival {
  const event = { id, type: 'invoice.paid', objectId: 'in_1', facts: { orderId: '' } }
  return sampleArrival(id, { event, wantedBy: ['a'], rawBody: Buffer.from(`{"id":"${id}"}`), ...members })
}

/** Stores a delivery whose tasks die, and whose body is then removed at the end of its retention. */
async function storeStripped(open: OpenInbox, arrival: Arrival): Promise<void> {
  expect(await open.inbox.record(arrival)).toBe('recorded')
  const eventId = arrival.event.id
  const ended = { $set: { state: 'dead', reason: 'handler_refused', failures: 3, stripAt: new Date(0) } } as const
  await open.events.updateMany({ eventId }, ended)
  await stripOldBodies(open.db, RETENTION, new AbortController().signal)
  await open.db.collection(BODIES).deleteMany()
}

async function redeliver(open: OpenInbox, arrival: Arrival): Promise<readonly EventDocument[]> {
  expect(await open.inbox.record(arrival)).toBe('duplicate')
  await open.counts.flush()
  return open.events.find({ eventId: arrival.event.id }).sort({ handler: 1 }).toArray()
}

/** What the handlers would get: the texts of their tasks, or why they get none. */
async function sentTasks(open: OpenInbox, encryption = NO_ENCRYPTION): Promise<readonly string[]> {
  const source = { db: open.db, isSharded: () => false, encryption }
  const sent: string[] = []
  for (const handler of ['a', 'b']) {
    const claims = await open.claims({ handler }).claimDue(10)
    for await (const { read } of readTasks(source, handler, claims)) {
      sent.push('refused' in read ? read.refused : JSON.stringify(JSON.parse(read.json).body))
    }
  }
  return sent
}

describe('a redelivery of a dead task whose body was removed', () => {
  it('stores the body again with the evidence of this delivery, and revives the task', async () => {
    await using open = await openTasks()
    await storeStripped(open, delivery('e1', { query: 'old=1' }))
    const before = await open.record('e1')
    expect(before).toMatchObject({ state: 'dead', headers: {} })
    const members = { headers: { 'x-signature': 'new' }, query: 'new=1', secretId: 's2', requestId: 'request-2' }
    const [revived] = await redeliver(open, delivery('e1', members))
    expect(revived).toMatchObject({ state: 'pending', revivals: 1, deliveries: 2, ...members })
    expect(revived?.raw.toString()).toBe('{"id":"e1"}')
    expect(revived?.receivedAt).toEqual(before.receivedAt)
    expect(revived?.evidenceAt).toEqual(revived?.lastDeliveryAt)
    expect(revived).not.toHaveProperty('stripAt')
    expect(await sentTasks(open)).toEqual(['{"id":"e1"}'])
  })

  it('is removed again when its retention has ended', async () => {
    await using open = await openTasks()
    await storeStripped(open, delivery('e1'))
    await redeliver(open, delivery('e1'))
    const [claim] = await open.claims({ handler: 'a' }).claimDue(1)
    const attempt = { ms: 1, outcome: 'dead', code: 'handler_refused', message: null }
    const settled = { claim: claim!, settlement: { state: 'dead', reason: 'handler_refused' } as const, attempt }
    await open.claims({ handler: 'a', ...RETENTION }).settle([settled])
    const { stripAt, settledAt } = await open.record('e1')
    expect(stripAt?.getTime()).toBe((settledAt?.getTime() ?? 0) + RETENTION.bodyRetentionMs)
  })

  it('stores a body that tasks share once', async () => {
    await using open = await openTasks()
    const arrival = delivery('e1', { wantedBy: ['a', 'b'] })
    await storeStripped(open, arrival)
    expect(await open.events.countDocuments({ bodyId: { $exists: true } })).toBe(0)
    expect(await open.db.collection(BODIES).countDocuments()).toBe(0)
    open.commands.length = 0
    const revived = await redeliver(open, arrival)
    const [body] = await open.db.collection<BodyDocument>(BODIES).find().toArray()
    for (const record of revived) expect(record).toMatchObject({ state: 'pending', revivals: 1, bodyId: body?._id })
    expect(open.commands.filter(({ command }) => command.update === BODIES)).toHaveLength(1)
    expect(await sentTasks(open)).toEqual(['{"id":"e1"}', '{"id":"e1"}'])
  })

  it.each([[['a']], [['a', 'b']]])('encrypts what it stores, for %s', async (wantedBy) => {
    const encryption = createTestKeys().encryption('k1')
    await using open = await openTasks({ encryption })
    await storeStripped(open, delivery('e1', { wantedBy }))
    const revived = await redeliver(open, delivery('e1', { wantedBy, headers: { 'x-signature': 'new' } }))
    expect(revived).toHaveLength(wantedBy.length)
    for (const record of revived) {
      expect(record).toMatchObject({ state: 'pending', headers: {}, sealed: { key: 'k1' } })
      expect(record.raw.length()).toBe(0)
    }
    for (const body of await open.db.collection<BodyDocument>(BODIES).find().toArray()) {
      expect(body).toMatchObject({ sealed: { key: 'k1' } })
      expect(body.raw.length()).toBe(0)
    }
    expect(await sentTasks(open, encryption)).toEqual(wantedBy.map(() => '{"id":"e1"}'))
  })

  it('leaves a body as it is that was not removed', async () => {
    await using open = await openTasks()
    await open.inbox.record(delivery('e1'))
    await open.events.updateOne({ eventId: 'e1' }, { $set: { state: 'dead' } })
    const [revived] = await redeliver(open, delivery('e1', { headers: { 'x-signature': 'new' } }))
    expect(revived).toMatchObject({ state: 'pending', headers: { 'content-type': 'application/json' } })
    expect(revived).not.toHaveProperty('evidenceAt')
  })

  it('does not bring back a body that was erased, and leaves the task dead', async () => {
    await using open = await openTasks()
    const arrival = delivery('e1', { wantedBy: ['a', 'b'] })
    expect(await open.inbox.record(arrival)).toBe('recorded')
    await open.events.updateMany({}, { $set: { state: 'dead', reason: 'handler_refused' } })
    const { bodyId = '' } = await open.record('e1')
    // As if another event of the same delivery had been erased.
    await eraseEvents(open.db, [{ _id: new ObjectId(), state: 'done', bodyId }])
    const left = await redeliver(open, arrival)
    for (const record of left) {
      expect(record).toMatchObject({ state: 'dead', reason: 'handler_refused', deliveries: 2, bodyId })
      expect(record).not.toHaveProperty('revivals')
    }
    expect(open.revivals).toEqual([])
    expect(open.redelivered).toEqual(['body_missing', 'body_missing'])
  })

  it('leaves it dead, and uses up no revival, where bodies are no longer removed before the horizon', async () => {
    await using open = await openTasks({ bodyRetentionMs: 3_600_000 })
    await storeStripped(open, delivery('e1'))
    const [left] = await redeliver(open, delivery('e1'))
    expect(left).toMatchObject({ state: 'dead', reason: 'handler_refused', failures: 3, deliveries: 2 })
    expect(left).not.toHaveProperty('revivals')
    expect(open.redelivered).toEqual(['body_missing'])
  })

  it('revives the task of fulfilment without a body, which it does not need', async () => {
    await using open = await openFreshInbox(process.env)
    await storeStripped(open, sampleArrival('e1'))
    const [revived] = await redeliver(open, sampleArrival('e1'))
    expect(revived).toMatchObject({ state: 'pending', revivals: 1, headers: {} })
  })

  it('costs nothing more for tasks that are not dead', async () => {
    await using open = await openTasks()
    const ids = Array.from({ length: 30 }, (_, index) => `e${index}`)
    for (const id of ids) await open.inbox.record(delivery(id))
    for (const id of [...ids, ...ids]) await open.inbox.record(delivery(id))
    open.commands.length = 0
    await open.counts.flush()
    expect(open.commands.map(({ commandName }) => commandName)).toEqual(['find', 'update'])
  })
})

describe('the room for evidence', () => {
  const MIB = 1_024 * 1_024
  const room = (bodyRetentionMs: number) => createEvidenceRoom({ bodyRetentionMs, redeliveryMs: () => 1_000 })
  const bringing = (rawBody: Buffer) => ({ provider: 'acme', handler: 'a', evidence: { ...delivery('e1'), rawBody } })

  it('keeps what a task of a handler may need, once for all tasks of a delivery, until it is full', () => {
    const { keep, clear } = room(999)
    const shared = Buffer.alloc(5 * MIB)
    for (let task = 0; task < 100; task += 1) expect(keep(bringing(shared))?.rawBody).toBe(shared)
    expect(keep(bringing(Buffer.alloc(5 * MIB)))).toBeUndefined()
    expect(keep(bringing(Buffer.alloc(MIB)))).toBeDefined()
    clear()
    expect(keep(bringing(Buffer.alloc(5 * MIB)))).toBeDefined()
  })

  it('keeps nothing else', () => {
    const { keep } = room(999)
    expect(Object.keys(keep(bringing(Buffer.alloc(1))) ?? {}).toSorted()).toEqual([
      ...['headers', 'query', 'rawBody', 'requestId', 'secretId'],
    ])
    expect(keep({ ...bringing(Buffer.alloc(1)), handler: undefined })).toBeUndefined()
    expect(room(1_000).keep(bringing(Buffer.alloc(1)))).toBeUndefined()
  })
})
