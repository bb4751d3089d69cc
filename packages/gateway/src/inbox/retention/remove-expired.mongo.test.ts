import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { EVENTS } from '@oncehook/queue/task'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { sampleRecord } from '../../testing/sample-record.ts'
import { EVENT_INDEXES, type EventDocument } from '../event-document.ts'
import { removeExpired } from './remove-expired.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const { db } = stack.use(await testDatabase(process.env))
await ensureIndexes(db, [EVENT_INDEXES])
const events = db.collection<EventDocument>(EVENTS)
beforeEach(async () => void (await events.deleteMany()))

const going = new AbortController().signal
const PAST = new Date(Date.now() - 1_000)
const LATER = new Date(Date.now() + 3_600_000)

const taskOf = (handler: string, members: Partial<EventDocument> = {}) =>
  sampleRecord({ eventId: 'evt_1', handler, expireAt: PAST, ...members })

async function handlersLeft(): Promise<string[]> {
  const left = await events.find().sort({ handler: 1 }).toArray()
  return left.map(({ handler }) => handler)
}

describe('removeExpired', () => {
  it('removes the records whose time is over, and no others', async () => {
    await events.insertMany([
      sampleRecord({ expireAt: PAST, handler: 'over' }),
      sampleRecord({ expireAt: LATER, handler: 'not yet' }),
      sampleRecord({ handler: 'without date' }),
      sampleRecord({ expireAt: null as never, handler: 'not a date' }),
    ])
    await removeExpired(db, going)
    expect(await handlersLeft()).toEqual(['not a date', 'not yet', 'without date'])
  })

  it.each([
    ['waits', { state: 'pending', dueAt: LATER }],
    ['is dead', { state: 'dead' }],
    ['ends later', { state: 'done', expireAt: LATER }],
  ] as const)('keeps the key, without data, while another task of the event %s', async (_, members) => {
    const billing = taskOf('billing', { bodyHash: 'x' })
    const { expireAt: _past, ...search } = taskOf('search')
    await events.insertMany([billing, { ...search, ...members }])
    await removeExpired(db, going)
    const { _id, provider, eventId, receivedAt } = billing
    const kept = await events.findOne({ handler: 'billing' })
    expect(kept).toEqual({
      ...{ _id, provider, eventId, handler: 'billing', bodyHash: 'x', receivedAt, deliveries: 1, mismatches: 0 },
      ...{ state: 'done', reason: 'expired', expireAt: expect.any(Date) },
    })
    expect(kept?.expireAt?.getTime()).toBeGreaterThan(Date.now())
    await removeExpired(db, going)
    expect(await handlersLeft()).toEqual(['billing', 'search'])

    await events.updateMany({}, { $set: { expireAt: PAST } })
    await removeExpired(db, going)
    expect(await handlersLeft()).toEqual([])
  })

  it('does not let keys keep each other', async () => {
    await events.insertMany([taskOf('billing'), taskOf('search', { expireAt: LATER })])
    await removeExpired(db, going)
    await events.updateOne({ handler: 'search' }, { $set: { expireAt: PAST } })
    await removeExpired(db, going)
    expect(await handlersLeft()).toEqual(['billing'])
    await events.updateOne({ handler: 'billing' }, { $set: { expireAt: PAST } })
    await removeExpired(db, going)
    expect(await handlersLeft()).toEqual([])
  })

  it('works through any number in slices, stops on request, and reads no record whose time is not over', async () => {
    await events.insertMany(Array.from({ length: 1_100 }, () => sampleRecord({ expireAt: PAST })))
    await events.insertMany(Array.from({ length: 1_000 }, () => sampleRecord({ expireAt: LATER })))
    await removeExpired(db, AbortSignal.abort())
    expect(await events.countDocuments()).toBe(2_100)
    await db.command({ profile: 2 })
    await removeExpired(db, going)
    await db.command({ profile: 0 })
    expect(await events.countDocuments()).toBe(1_000)
    const profile = db.collection('system.profile')
    const ofEvents = { ns: `${db.databaseName}.${EVENTS}`, op: { $in: ['query', 'remove'] } }
    const steps = await profile.find(ofEvents).toArray()
    expect(steps.length).toBe(9)
    for (const { keysExamined, planSummary } of steps) {
      expect(planSummary).toMatch(/^(IXSCAN|IDHACK)/)
      expect(keysExamined).toBeLessThanOrEqual(1_100)
    }
  })
})
