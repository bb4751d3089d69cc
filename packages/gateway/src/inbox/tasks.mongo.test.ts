import { type TestDatabase, testDatabase } from '@oncehook/kernel/testing/test-database'
import type { Claim } from '@oncehook/queue/claim/claim'
import { EVENTS } from '@oncehook/queue/task'
import { failed } from '@oncehook/queue/testing/open-queue'
import { describe, expect, it } from 'vitest'
import { type OpenInbox, openInbox, sampleArrival } from '../testing/open-inbox.ts'
import type { TaskTaker } from './inbox.ts'

/** Claims that were made on insert, by handler. */
type Taken = Record<string, Claim[]>

/** An inbox with handlers. Each claims on insert unless it is named as busy. */
async function openTasks(database: TestDatabase, busy: readonly string[] = []) {
  const taken: Taken = {}
  const takerOf = (handler: string): TaskTaker => ({
    admits: () => !busy.includes(handler),
    take(claim) {
      taken[handler] ??= []
      taken[handler].push(claim)
    },
    ...{ lastsMs: 30_000, miss: () => undefined, expect: () => undefined },
  })
  const claimedOnInsert: Claim[] = []
  taken.fulfilment = claimedOnInsert
  const open = { ...(await openInbox(database, { takerOf })), claimedOnInsert }
  return { ...open, taken, [Symbol.asyncDispose]: () => open[Symbol.asyncDispose]() }
}

const invoice = (id: string) => ({ id, type: 'invoice.paid', objectId: 'in_1', facts: { orderId: '' } })
const wanted = (id: string, ...wantedBy: readonly string[]) => sampleArrival(id, { wantedBy })
const wantedOnly = (id: string, ...wantedBy: readonly string[]) => sampleArrival(id, { event: invoice(id), wantedBy })

async function tasksOf({ events }: OpenInbox, eventId: string) {
  const found = await events.find({ eventId }).sort({ handler: 1 }).toArray()
  return found.map(({ handler, state }) => [handler, state])
}

function inserts({ commands }: OpenInbox): number {
  return commands.filter(({ commandName, command }) => commandName === 'insert' && command.insert === EVENTS).length
}

describe('an event with tasks', () => {
  it('is stored once for each handler with one command, each with a copy of the body', async () => {
    await using database = await testDatabase(process.env)
    await using open = await openTasks(database)
    expect(await open.inbox.record(wanted('e1', 'a', 'b'))).toBe('recorded')
    expect(await tasksOf(open, 'e1')).toEqual([
      ['a', 'processing'],
      ['b', 'processing'],
      ['fulfilment', 'processing'],
    ])
    expect(inserts(open)).toBe(1)
    const records = await open.events.find({ eventId: 'e1' }).toArray()
    const { rawBody } = wanted('e1')
    expect(records.map(({ raw, bodyId }) => [raw.toString(), bodyId])).toEqual(
      Array(3).fill([String(rawBody), undefined]),
    )
    expect(await database.db.collection('bodies').countDocuments()).toBe(0)
    expect([open.claimedOnInsert.length, open.taken.a?.length, open.taken.b?.length]).toEqual([1, 1, 1])
    expect(open.taken.a?.[0]?.handler).toBe('a')
  })

  it('has a large body once', async () => {
    await using database = await testDatabase(process.env)
    await using open = await openTasks(database)
    const rawBody = Buffer.alloc(11_000, 'x')
    expect(await open.inbox.record({ ...wanted('e1', 'a', 'b'), rawBody })).toBe('recorded')
    const records = await open.events.find({ eventId: 'e1' }).toArray()
    expect(new Set(records.map(({ bodyId }) => bodyId)).size).toBe(1)
    expect(records.map(({ raw }) => raw.length())).toEqual([0, 0, 0])
    expect(await database.db.collection('bodies').countDocuments()).toBe(1)
    expect(await open.inbox.record({ ...wanted('e2'), rawBody: Buffer.alloc(33_000, 'x') })).toBe('recorded')
    expect((await open.record('e2')).raw.length()).toBe(33_000)
  })

  it('has one time of receipt in all tasks of a delivery, whichever handlers they are for', async () => {
    await using database = await testDatabase(process.env)
    await using open = await openTasks(database)
    const receivedAt = new Date(Date.now() - 4_321)
    await open.inbox.record(sampleArrival('e1', { wantedBy: ['a', 'b'], receivedAt }))
    const offers = [{ event: invoice('one'), wantedBy: ['a'] }, { event: invoice('two') }]
    await open.inbox.recordBatch({
      evidence: sampleArrival('x', { receivedAt }),
      offers,
      endsAt: performance.now() + 5_000,
    })
    const records = await open.events.find().toArray()
    expect(records.map((record) => record.receivedAt)).toEqual(records.map(() => receivedAt))
    expect(records).toHaveLength(5)
  })

  it('waits for a handler that is busy or no longer configured, without holding up the others', async () => {
    await using database = await testDatabase(process.env)
    await using open = await openTasks(database, ['b'])
    await open.inbox.record(wantedOnly('e1', 'a', 'b'))
    expect(await tasksOf(open, 'e1')).toEqual([
      ['a', 'processing'],
      ['b', 'pending'],
    ])
  })

  it('is known after all its tasks are stored, and a redelivery writes those that are missing', async () => {
    await using database = await testDatabase(process.env)
    await using open = await openTasks(database)
    expect(await open.inbox.record(wantedOnly('e1', 'a'))).toBe('recorded')
    expect(await open.inbox.record(wantedOnly('e1', 'a', 'b'))).toBe('recorded')
    const before = open.commands.length
    expect(await open.inbox.record(wantedOnly('e1', 'a', 'b'))).toBe('duplicate')
    expect(open.commands.length).toBe(before)
    await using other = await openTasks(database)
    expect(await other.inbox.record(wantedOnly('e1', 'a', 'b'))).toBe('duplicate')
    expect(await tasksOf(open, 'e1')).toHaveLength(2)
  })

  it('is part of a delivery with several events, each with its own handlers', async () => {
    await using database = await testDatabase(process.env)
    await using open = await openTasks(database)
    const outcomes = await open.inbox.recordBatch({
      evidence: sampleArrival('x'),
      offers: [{ event: invoice('one'), wantedBy: ['a', 'b'] }, { event: invoice('two') }],
      endsAt: performance.now() + 5_000,
    })
    expect(outcomes).toEqual(['recorded', 'recorded'])
    expect(await tasksOf(open, 'one')).toHaveLength(2)
    expect(await tasksOf(open, 'two')).toEqual([['', 'unhandled']])
  })

  it('that nobody wanted gets a task if a later delivery finds that somebody wants it', async () => {
    await using database = await testDatabase(process.env)
    await using open = await openTasks(database)
    await open.inbox.record(wantedOnly('e1'))
    expect(await open.inbox.record(wanted('e1', 'a'))).toBe('recorded')
    expect(await tasksOf(open, 'e1')).toEqual([
      ['', 'unhandled'],
      ['a', 'processing'],
      ['fulfilment', 'processing'],
    ])
  })
})

describe('a redelivery of an event with tasks', () => {
  it('counts on each of them, and revives only the dead one', async () => {
    await using database = await testDatabase(process.env)
    await using open = await openTasks(database)
    await open.inbox.record(wanted('e1', 'a', 'b'))
    const [claim] = open.taken.b ?? []
    if (claim === undefined) throw new Error('b has no claim')
    await open
      .claims({ handler: 'b' })
      .settle([{ claim, settlement: { state: 'dead', reason: 'handler_refused' }, attempt: failed }])
    expect(await open.inbox.record(wanted('e1', 'a', 'b'))).toBe('duplicate')
    await open.counts.flush()
    expect(await tasksOf(open, 'e1')).toEqual([
      ['a', 'processing'],
      ['b', 'pending'],
      ['fulfilment', 'processing'],
    ])
    const records = await open.events.find({ eventId: 'e1' }).toArray()
    expect(records.map(({ deliveries }) => deliveries)).toEqual([2, 2, 2])
    expect(open.revivals).toHaveLength(1)
  })
})

describe('another body under the id of an event with tasks', () => {
  it('is counted on each task, and reported once', async () => {
    await using database = await testDatabase(process.env)
    await using open = await openTasks(database)
    await open.inbox.record(wanted('e1', 'a', 'b'))
    const other = { wantedBy: ['a', 'b'], rawBody: Buffer.from('another body') }
    expect(await open.inbox.record(sampleArrival('e1', other))).toBe('duplicate')
    await open.counts.flush()
    const records = await open.events.find({ eventId: 'e1' }).toArray()
    expect(records.map(({ mismatches }) => mismatches)).toEqual([1, 1, 1])
    expect(open.mismatched).toEqual([['acme', 1]])
  })
})
