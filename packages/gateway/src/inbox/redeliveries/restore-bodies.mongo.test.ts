import { createDatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { createTestKeys, NO_ENCRYPTION } from '@oncehook/kernel/testing/test-encryption'
import { ObjectId } from 'mongodb'
import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { readTasks } from '../../handlers/calls/read-tasks.ts'
import { openFreshInbox } from '../../testing/open-fresh-inbox.ts'
import { type OpenInbox, openInbox, sampleArrival } from '../../testing/open-inbox.ts'
import { BODIES, type BodyDocument } from '../bodies.ts'
import type { EventDocument } from '../event-document.ts'
import type { Arrival, InboxDeps } from '../inbox.ts'
import { eraseEvents } from '../retention/erase-events.ts'
import { stripOldBodies } from '../retention/strip-old-bodies.ts'
import { createRedeliveryCounter, type RedeliveryCounter, type Requeued } from './redeliveries.ts'

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

interface Hooked {
  readonly counts: RedeliveryCounter
  /** What became of the redeliveries. */
  readonly outcomes: readonly string[]
  readonly lines: readonly object[]
}

/** A counter that does something after it has read the records, and before it changes them. */
function countWith(open: OpenInbox, beforeUpdate: (revivals: readonly Requeued[]) => Promise<void>): Hooked {
  const { logger, lines } = memoryLogger()
  const outcomes: string[] = []
  const counts = createRedeliveryCounter({
    ...{ ...RETENTION, db: open.db, logger, flushMs: 3_600_000, encryption: NO_ENCRYPTION, onRequeued: beforeUpdate },
    ...{ maxRevivals: 8, redeliveryMs: () => 3_600_000, errors: createDatabaseErrors(new Registry()) },
    onBodyConflict: () => undefined,
    onDropped: () => undefined,
    onRedelivered: (_, outcome) => void outcomes.push(outcome),
  })
  return { counts, outcomes, lines }
}

/** The redeliveries of all tasks of a delivery, as the inbox counts them. */
async function addRedeliveries(open: OpenInbox, counts: RedeliveryCounter, arrival: Arrival): Promise<void> {
  const { provider, event, rawBody, query, headers, secretId, requestId, wantedBy = [] } = arrival
  const handlers = wantedBy.flatMap((wish) => (typeof wish === 'string' ? wish : []))
  const { bodyHash } = await open.record(event.id)
  const bodyId = handlers.length > 1 ? `acme:${bodyHash}` : undefined
  const evidence = { rawBody, query, headers, secretId, requestId }
  for (const handler of handlers) counts.add({ provider, event, bodyHash, handler, evidence, bodyId })
}

/** What the handlers would get: the texts of their tasks, or why they get none. */
async function sentTasks(open: OpenInbox, encryption = NO_ENCRYPTION): Promise<readonly string[]> {
  const source = { db: open.db, encryption }
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
    const { provider, bodyHash, bodyId } = await open.record('e1')
    // As if another event of the same delivery had been erased.
    await eraseEvents(open.db, [{ _id: new ObjectId(), state: 'done', provider, bodyHash }])
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

describe('a redelivery of a dead task, while the database changes or refuses', () => {
  const MIB = 1_024 * 1_024

  it('keeps what a redelivery brought until it is written, however much later ones bring', async () => {
    await using open = await openTasks()
    await storeStripped(open, delivery('e1'))
    const large = delivery('e2', { rawBody: Buffer.alloc(8 * MIB - 2_048) })
    await storeStripped(open, large)
    let isAway = true
    const { counts, outcomes } = countWith(open, async () => {
      if (!isAway) return
      await addRedeliveries(open, counts, large)
      isAway = false
      throw new Error('The audit log is unavailable')
    })
    await addRedeliveries(open, counts, delivery('e1'))
    await counts.flush()
    await counts.stop()
    expect(await open.record('e1')).toMatchObject({ state: 'pending', revivals: 1, deliveries: 2 })
    expect(outcomes).toContain('revived')
    expect(await sentTasks(open)).toContain('{"id":"e1"}')
  })

  it('is not sent with another large body: one command could not hold both', async () => {
    await using open = await openTasks()
    const large = ['e1', 'e2'].map((id) => delivery(id, { rawBody: Buffer.alloc(3 * MIB, id) }))
    for (const arrival of large) await storeStripped(open, arrival)
    const { counts, outcomes } = countWith(open, async () => undefined)
    for (const arrival of large) await addRedeliveries(open, counts, arrival)
    open.commands.length = 0
    await counts.stop()
    const updates = open.commands.filter(({ command }) => command.update === 'events')
    expect(updates.map(({ command }) => command.updates.length)).toEqual([1, 1])
    expect(outcomes).toEqual(['revived', 'revived'])
  })

  it('waits with the events of a body that the database refuses, and with no others', async () => {
    await using open = await openTasks()
    const { counts, outcomes, lines } = countWith(open, async () => undefined)
    const [refused, other] = ['e1', 'e2'].map((id) => delivery(id, { wantedBy: ['a', 'b'] })) as [Arrival, Arrival]
    for (const arrival of [refused, other]) await storeStripped(open, arrival)
    const { bodyHash } = await open.record('e1')
    const isRefused = { $gte: [{ $indexOfBytes: ['$_id', bodyHash] }, 0] }
    await open.db.command({ collMod: BODIES, validator: { $expr: { $not: [isRefused] } } })
    for (const arrival of [refused, other]) await addRedeliveries(open, counts, arrival)
    await counts.flush()
    expect(await open.events.countDocuments({ eventId: 'e2', state: 'pending', deliveries: 2 })).toBe(2)
    expect(await open.events.countDocuments({ eventId: 'e1', state: 'dead', deliveries: 1 })).toBe(2)
    expect(lines).toContainEqual(expect.objectContaining({ msg: 'inbox.counts-deferred', events: 2 }))
    await open.db.command({ collMod: BODIES, validator: {} })
    await counts.stop()
    expect(await open.events.countDocuments({ eventId: 'e1', state: 'pending', deliveries: 2 })).toBe(2)
    expect(outcomes).toEqual(['revived', 'revived', 'revived', 'revived'])
    expect(await sentTasks(open)).toHaveLength(4)
  })

  it.each([[['a']], [['a', 'b']]])(
    'brings its body if that was removed after the record was read, for %s',
    async (wantedBy) => {
      await using open = await openTasks()
      const arrival = delivery('e1', { wantedBy })
      await open.inbox.record(arrival)
      await open.events.updateMany({}, { $set: { state: 'dead', reason: 'handler_refused' } })
      const revivals: Requeued[] = []
      const { counts, outcomes } = countWith(open, async (added) => {
        revivals.push(...added)
        if (revivals.length > wantedBy.length) return
        await open.events.updateMany({}, { $set: { stripAt: new Date(0) } })
        await stripOldBodies(open.db, RETENTION, new AbortController().signal)
        await open.db.collection(BODIES).deleteMany()
      })
      await addRedeliveries(open, counts, arrival)
      await counts.flush()
      expect(await open.events.countDocuments({ state: 'dead', deliveries: 1 })).toBe(wantedBy.length)
      await counts.stop()
      expect(await open.events.countDocuments({ state: 'pending', deliveries: 2, revivals: 1 })).toBe(wantedBy.length)
      expect(outcomes).toEqual(wantedBy.map(() => 'revived'))
      expect(new Set(revivals.map(({ auditId }) => String(auditId))).size).toBe(wantedBy.length)
      expect(await sentTasks(open)).toEqual(wantedBy.map(() => '{"id":"e1"}'))
    },
  )

  it('counts it once, and reports no revival, where an operator closed the event meanwhile', async () => {
    await using open = await openTasks()
    await open.inbox.record(delivery('e1'))
    await open.events.updateMany({}, { $set: { state: 'dead', reason: 'handler_refused' } })
    const { counts, outcomes } = countWith(open, async () => {
      await open.events.updateMany({}, { $set: { state: 'closed' } })
    })
    await addRedeliveries(open, counts, delivery('e1'))
    await counts.flush()
    await counts.stop()
    expect(await open.record('e1')).toMatchObject({ state: 'closed', deliveries: 2 })
    expect(outcomes).toEqual([])
  })

  it('is counted, and reports no second revival, where another gateway revived the event meanwhile', async () => {
    await using open = await openTasks()
    await open.inbox.record(delivery('e1'))
    await open.events.updateMany({}, { $set: { state: 'dead', reason: 'handler_refused' } })
    const other = countWith(open, async () => undefined)
    const { counts, outcomes } = countWith(open, async () => {
      await addRedeliveries(open, other.counts, delivery('e1'))
      await other.counts.flush()
    })
    await addRedeliveries(open, counts, delivery('e1'))
    await counts.flush()
    await counts.stop()
    expect(await open.record('e1')).toMatchObject({ state: 'pending', deliveries: 3, revivals: 1 })
    expect([other.outcomes, outcomes]).toEqual([['revived'], []])
  })

  it('sends no task without its body where the body was erased meanwhile: it is dead with the reason', async () => {
    await using open = await openTasks()
    const arrival = delivery('e1', { wantedBy: ['a', 'b'] })
    await open.inbox.record(arrival)
    await open.events.updateMany({}, { $set: { state: 'dead', reason: 'handler_refused' } })
    const { provider, bodyHash } = await open.record('e1')
    const { counts } = countWith(open, async () => {
      await eraseEvents(open.db, [{ _id: new ObjectId(), state: 'done', provider, bodyHash }])
    })
    await addRedeliveries(open, counts, arrival)
    await counts.stop()
    expect(await sentTasks(open)).toEqual(['body_missing', 'body_missing'])
  })
})
