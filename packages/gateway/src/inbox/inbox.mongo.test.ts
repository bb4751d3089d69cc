import { randomUUID } from 'node:crypto'
import { armFailPoint } from '@oncehook/kernel/testing/fail-point'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import type { Claim } from '@oncehook/queue/claim/claim'
import { again } from '@oncehook/queue/testing/open-queue'
import { afterAll, describe, expect, it } from 'vitest'
import { openInbox, sampleArrival } from '../testing/open-inbox.ts'
import { eventOf } from './event-document.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))

const WRITES = new Set(['insert', 'update', 'delete', 'findAndModify', 'createIndexes'])

function uniqueId(): string {
  return `evt_${randomUUID()}`
}

function failNextInsert(appName: string, how: object): Promise<AsyncDisposable> {
  return armFailPoint(database.uri, { commands: ['insert'], appName, how })
}

describe('record', () => {
  it('stores an event byte for byte, claimed on insert until an end by the clock of the database', async () => {
    const now = Date.now()
    await using open = await openInbox(database, { owner: 'this process', databaseNow: () => now })
    const id = uniqueId()
    const rawBody = Buffer.from([0x7b, 0xff, 0x00, 0x80, 0x7d])
    const event = {
      ...{ id, type: 'payment.succeeded', objectId: 'pay_7' },
      facts: { orderId: 'ord_7', amount: 1999, currency: 'EUR', occurredAt: '2026-01-01T00:00:00.000Z' },
    }
    const headers = { 'content-type': 'application/json', 'x-signature': 'abc' }
    expect(await open.inbox.record(sampleArrival(id, { rawBody, event, headers }))).toBe('recorded')
    const record = await open.record(id)
    expect(record.raw.value()).toEqual(rawBody)
    expect(record).toMatchObject({
      ...{ provider: 'acme', eventId: id, type: 'payment.succeeded', objectId: 'pay_7', orderId: 'ord_7', headers },
      facts: { amount: 1999, currency: 'EUR', occurredAt: '2026-01-01T00:00:00.000Z' },
      ...{ secretId: 's1', requestId: 'request-1', state: 'processing', reason: null },
      ...{ starts: 1, deliveries: 1, mismatches: 0, attempts: [] },
      ...{ claim: 'this process', dueAt: new Date(now + 30_000) },
    })
    expect(record.receivedAt).toBeInstanceOf(Date)
    const [claim] = open.claimedOnInsert
    expect(claim).toMatchObject({
      ...{ _id: record._id, provider: 'acme', eventId: id, handler: 'fulfilment' },
      ...{ claim: 'this process', endsAt: now + 30_000, starts: 1, lost: 0, failures: 0, waited: 0, waitedFor: null },
    })
    expect(claim && eventOf(claim)).toEqual(event)
    for (const member of ['raw', 'headers']) expect(claim?.record).not.toHaveProperty(member)
  })

  it('claims an event on insert until that end, also if the answer of the database was lost, and no longer', async () => {
    await using open = await openInbox(database)
    const id = uniqueId()
    {
      await using _ = await failNextInsert(open.appName, { writeConcernError: { code: 64, errmsg: 'timed out' } })
      expect(await open.inbox.record(sampleArrival(id))).toBe('not_stored')
    }
    const { _id } = await open.record(id)
    const suspects = async (): Promise<string[]> =>
      (await open.claims().claimSuspects(null, 100)).claims.map(({ eventId }) => eventId)
    expect(await suspects()).not.toContain(id)
    await open.events.updateOne({ _id }, { $set: { dueAt: new Date(Date.now() - 60_000) } })
    expect(await suspects()).toContain(id)
  })

  it.each(['$$NOW', 'a.b.$[].c', '__proto__', '🆔 with blanks ', 'x'.repeat(255), 'e\u0301'])(
    'keeps the id %j as it is',
    async (id) => {
      await using open = await openInbox(database)
      const provider = randomUUID()
      const event = {
        id,
        type: 'payment.$set',
        objectId: `$${id}`.slice(0, 255),
        facts: { orderId: `$${id}`.slice(0, 255) },
      }
      expect(await open.inbox.record(sampleArrival(id, { provider, event }))).toBe('recorded')
      expect(await open.events.findOne({ provider })).toMatchObject({
        ...{ eventId: id, type: event.type, objectId: event.objectId, orderId: event.facts.orderId },
      })
    },
  )

  it.each([
    ['with a full stop', 'x.signature'],
    ['with a dollar sign', '$signature'],
    ['called __proto__', '__proto__'],
  ])('stores headers %s, and breaks no group with them', async (_, name) => {
    await using open = await openInbox(database)
    const ids = [uniqueId(), uniqueId(), uniqueId()]
    const [first = '', second = '', third = ''] = ids
    const arrivals = [
      sampleArrival(first),
      sampleArrival(second, { headers: Object.fromEntries([[name, 'x']]) }),
      sampleArrival(third),
    ]
    expect(await Promise.all(arrivals.map((one) => open.inbox.record(one)))).toEqual(Array(3).fill('recorded'))
  })

  it('stores a body of the largest size that a provider can have, alone, and can still settle it', async () => {
    await using open = await openInbox(database)
    const [id, small] = [uniqueId(), uniqueId()]
    const headers = Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`h${index}`, 'x'.repeat(2_048)]))
    const large = sampleArrival(id, { rawBody: Buffer.alloc(16_000_000, 'x'), headers })
    const verdicts = await Promise.all([open.inbox.record(large), open.inbox.record(sampleArrival(small))])
    expect(verdicts).toEqual(['recorded', 'recorded'])
    const claims = open.claims()
    const [claim] = open.claimedOnInsert
    if (claim === undefined) throw new Error('No claim was made on insert')
    const attempt = { ms: 1, outcome: 'x'.repeat(255), code: 'x'.repeat(255), message: 'x'.repeat(1_000) }
    for (let tries = 0; tries < 3; tries += 1) {
      const [held] = tries === 0 ? [claim] : await claims.claimDue(1)
      if (held === undefined) throw new Error('It is not due again')
      expect(await claims.settle([{ claim: held, settlement: again(), attempt }])).toHaveLength(0)
    }
    expect((await open.record(id)).raw.length()).toBe(16_000_000)
  })
})

describe('record of many at once', () => {
  it('FP-03: makes one record of fifty copies, and answers all of them', async () => {
    await using open = await openInbox(database)
    await using other = await openInbox(database)
    const id = uniqueId()
    const copies = Array.from({ length: 50 }, (_, index) => (index % 2 ? open : other).inbox.record(sampleArrival(id)))
    const verdicts = await Promise.all(copies)
    expect(verdicts.filter((verdict) => verdict === 'recorded')).toHaveLength(1)
    expect(verdicts.filter((verdict) => verdict === 'duplicate')).toHaveLength(49)
    expect(await open.events.countDocuments({ eventId: id })).toBe(1)
    expect([...open.claimedOnInsert, ...other.claimedOnInsert]).toHaveLength(1)
    await open.counts.flush()
    await other.counts.flush()
    expect(await open.record(id)).toMatchObject({ deliveries: 50, mismatches: 0 })
  })
})

describe('record of a duplicate', () => {
  it('keeps the first body and counts the others, each time', async () => {
    await using open = await openInbox(database)
    const id = uniqueId()
    await open.inbox.record(sampleArrival(id))
    const other = sampleArrival(id, {
      rawBody: Buffer.from('another body'),
      event: { ...sampleArrival(id).event, type: 'payment.failed', objectId: 'pay_2' },
    })
    const before = open.commands.length
    expect(await open.inbox.record(other)).toBe('duplicate')
    expect(open.commands).toHaveLength(before + 1)
    expect(await open.inbox.record(other)).toBe('duplicate')
    expect(await open.inbox.record(sampleArrival(id))).toBe('duplicate')
    await open.counts.flush()
    const record = await open.record(id)
    expect(record.raw.toString()).toBe(`the body of ${id}`)
    expect(record).toMatchObject({ type: 'payment.succeeded', objectId: 'pay_1', deliveries: 4, mismatches: 2 })
    expect(open.mismatched).toEqual([['acme', 2]])
    expect(open.claimedOnInsert).toHaveLength(1)
  })
})

describe('record while the database fails', () => {
  it('reports the whole group as not stored if no majority confirmed it, and as duplicates at the next delivery', async () => {
    await using open = await openInbox(database)
    const ids = [uniqueId(), uniqueId(), uniqueId()]
    {
      await using _ = await failNextInsert(open.appName, {
        writeConcernError: { code: 64, errmsg: 'waiting timed out' },
      })
      const verdicts = await Promise.all(ids.map((id) => open.inbox.record(sampleArrival(id))))
      expect(verdicts).toEqual(Array(3).fill('not_stored'))
    }
    expect(await open.events.countDocuments({ eventId: { $in: ids } })).toBe(3)
    expect(open.claimedOnInsert).toEqual([])
    const again = await Promise.all(ids.map((id) => open.inbox.record(sampleArrival(id))))
    expect(again).toEqual(Array(3).fill('duplicate'))
  })

  it('reports a duplicate as not stored if no majority has confirmed it', async () => {
    await using first = await openInbox(database)
    await using second = await openInbox(database)
    const id = uniqueId()
    await first.inbox.record(sampleArrival(id))
    {
      await using _ = await failNextInsert(second.appName, {
        writeConcernError: { code: 64, errmsg: 'waiting timed out' },
      })
      expect(await second.inbox.record(sampleArrival(id))).toBe('not_stored')
    }
    const before = second.commands.length
    expect(await second.inbox.record(sampleArrival(id))).toBe('duplicate')
    expect(second.commands.length).toBeGreaterThan(before)
  })

  it.each([
    ['the connection breaks', { closeConnection: true }],
    ['the primary steps down', { errorCode: 189, errorLabels: ['RetryableWriteError'] }],
    ['the server refuses', { errorCode: 8000 }],
  ])('says not stored when %s, and stores what comes again', async (_, how) => {
    await using open = await openInbox(database)
    const ids = [uniqueId(), uniqueId()]
    {
      await using __ = await failNextInsert(open.appName, how)
      const verdicts = await Promise.all(ids.map((id) => open.inbox.record(sampleArrival(id))))
      expect(verdicts).toEqual(['not_stored', 'not_stored'])
    }
    expect(open.claimedOnInsert).toEqual([])
    const again = await Promise.all(ids.map((id) => open.inbox.record(sampleArrival(id))))
    expect(again).toEqual(['recorded', 'recorded'])
    expect(await open.events.countDocuments({ eventId: { $in: ids } })).toBe(2)
  })

  it('answers a duplicate that it knows to be durable also while the database is unavailable', async () => {
    await using open = await openInbox(database)
    const id = uniqueId()
    await open.inbox.record(sampleArrival(id))
    await using _ = await failNextInsert(open.appName, { closeConnection: true })
    expect(await open.inbox.record(sampleArrival(id))).toBe('duplicate')
    expect(await open.inbox.record(sampleArrival(uniqueId()))).toBe('not_stored')
  })
})

describe('every write', () => {
  it('FP-24: asks for a journaled majority', async () => {
    await using open = await openInbox(database)
    const ids = Array.from({ length: 4 }, uniqueId)
    const claims = open.claims()
    const attempt = { ms: 1, outcome: 'applied', code: null, message: null }
    const settlement = { state: 'done', outcome: { kind: 'applied', version: 2 } } as const
    let due: Claim[] = []
    // Over another connection.
    const endAll = () => open.events.updateMany({ eventId: { $in: ids } }, { $set: { dueAt: new Date(0) } })
    const kinds: [kind: string, write: () => Promise<unknown>][] = [
      ['insert', () => Promise.all(ids.map((id) => open.inbox.record(sampleArrival(id))))],
      ['delivery counts', () => open.inbox.record(sampleArrival(ids[0] ?? '')).then(() => open.counts.flush())],
      ['release', () => claims.release(open.claimedOnInsert.slice(0, 2))],
      ['claimDue', () => claims.claimDue(10).then((claimed) => (due = claimed))],
      ['settle', () => claims.settle(due.map((claim) => ({ claim, settlement, attempt })))],
      ['claimSuspects', () => endAll().then(() => claims.claimSuspects(null, 10))],
    ]
    for (const [kind, write] of kinds) {
      const before = open.commands.length
      await write()
      const writes = open.commands.slice(before).filter(({ commandName }) => WRITES.has(commandName))
      expect(writes.length, kind).toBeGreaterThan(0)
      for (const { command } of writes) expect(command.writeConcern, kind).toMatchObject({ w: 'majority', j: true })
    }
  })
})
