import { hash, randomUUID } from 'node:crypto'
import { armFailPoint } from '@oncehook/kernel/testing/fail-point'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { NO_ENCRYPTION } from '@oncehook/kernel/testing/test-encryption'
import { afterAll, describe, expect, it } from 'vitest'
import { openInbox, sampleArrival } from '../testing/open-inbox.ts'
import { BODIES, type BodyDocument, withBody } from './bodies.ts'
import type { Evidence } from './inbox.ts'
import type { BatchArrival } from './record-batch.ts'
import { eraseEvents, findErasableEvents } from './retention/erase-events.ts'
import { removeUnusedBodies } from './retention/remove-unused-bodies.ts'
import { stripOldBodies } from './retention/strip-old-bodies.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const open = stack.use(await openInbox(database))
const bodies = database.db.collection<BodyDocument>(BODIES)
const source = { db: database.db, encryption: NO_ENCRYPTION }
const going = new AbortController().signal
const HOUR_MS = 3_600_000
const PAST = new Date(0)
const OVER = { stripAt: PAST, settledAt: new Date(0) }
const RETENTION = { retentionMs: HOUR_MS, bodyRetentionMs: HOUR_MS }

/** A delivery with its own body and events with these ids. The types have no effect. */
function batch(ids: readonly string[], members: Partial<Evidence> = {}) {
  const rawBody = Buffer.from(`the body of ${randomUUID()}`)
  const { event, ...evidence } = sampleArrival('none', { rawBody, ...members })
  const offers = ids.map((id) => ({ event: { ...event, id, type: 'customer.created' } }))
  const arrival: BatchArrival = { evidence, offers, endsAt: performance.now() + 20_000 }
  return { ids, rawBody, arrival, bodyId: `acme:${hash('sha256', rawBody, 'base64')}` }
}

function uniqueIds(count: number): string[] {
  return Array.from({ length: count }, () => `evt_${randomUUID()}`)
}

async function store(members: Partial<Evidence> = {}) {
  const stored = batch(uniqueIds(3), members)
  expect(await open.inbox.recordBatch(stored.arrival)).toEqual(['recorded', 'recorded', 'recorded'])
  return stored
}

/** Removes unused bodies after all of them have become due for a check. */
async function remove(): Promise<void> {
  await bodies.updateMany({}, { $set: { checkAt: PAST } })
  await removeUnusedBodies(open.db, going)
}

describe('recordBatch', () => {
  it('stores the body once, and each event with a reference to it', async () => {
    const { ids, rawBody, bodyId } = await store()
    expect((await bodies.findOne({ _id: bodyId }))?.raw.toString()).toBe(rawBody.toString())
    for (const id of ids) {
      const record = await open.record(id)
      expect(record).toMatchObject({ bodyId, bodyHash: hash('sha256', rawBody, 'base64') })
      expect(record.raw.length()).toBe(0)
      expect((await withBody(source, record)).raw.toString()).toBe(rawBody.toString())
    }
  })

  it('gives new tasks separate bodies if the shared one was erased, which stays so', async () => {
    await using own = await testDatabase(process.env)
    const takerOf = () => undefined
    await using first = await openInbox(own, { takerOf })
    const { arrival, bodyId, rawBody, ids } = batch(uniqueIds(3))
    expect(await first.inbox.recordBatch(arrival)).toEqual(['recorded', 'recorded', 'recorded'])
    const erased = await findErasableEvents(first.db, { provider: 'acme', eventId: ids[0] ?? '' })
    expect(await eraseEvents(first.db, erased)).toBe(1)
    await using later = await openInbox(own, { takerOf })
    const wanted = { ...arrival, offers: arrival.offers.map((offer) => ({ ...offer, wantedBy: ['billing'] })) }
    expect(await later.inbox.recordBatch(wanted)).toEqual(['recorded', 'recorded', 'recorded'])
    const tasks = await later.events.find({ handler: 'billing' }).toArray()
    expect(tasks).toHaveLength(3)
    for (const task of tasks) {
      expect(task).not.toHaveProperty('bodyId')
      expect(task.raw.toString()).toBe(rawBody.toString())
    }
    expect((await own.db.collection<BodyDocument>(BODIES).findOne({ _id: bodyId }))?.raw.length()).toBe(0)
  })

  it('stores no event if no majority has confirmed the body, and all at the next delivery', async () => {
    const { arrival, ids } = batch(uniqueIds(2))
    {
      const how = { writeConcernError: { code: 64, errmsg: 'waiting timed out' } }
      await using _ = await armFailPoint(database.uri, { commands: ['update'], appName: open.appName, how })
      expect(await open.inbox.recordBatch(arrival)).toEqual(['not_stored', 'not_stored'])
    }
    expect(await open.events.countDocuments({ eventId: { $in: [...ids] } })).toBe(0)
    expect(await open.inbox.recordBatch(arrival)).toEqual(['recorded', 'recorded'])
  })
})

describe('removeUnusedBodies', () => {
  it('keeps a body as long as one record refers to it, and removes it then', async () => {
    const { bodyId, ids } = await store()
    await open.events.deleteMany({ eventId: { $in: ids.slice(1) } })
    await remove()
    expect(await bodies.countDocuments({ _id: bodyId })).toBe(1)
    await open.events.deleteOne({ eventId: String(ids[0]) })
    await removeUnusedBodies(open.db, going)
    expect(await bodies.countDocuments({ _id: bodyId })).toBe(1)
    await remove()
    expect(await bodies.countDocuments({ _id: bodyId })).toBe(0)
  })

  it('removes a shared body when the last of its events has expired, although their keys stay', async () => {
    const { bodyId, ids } = await store({ signsTime: false })
    await open.events.updateMany({ eventId: { $in: ids.slice(1) } }, { $set: OVER })
    await stripOldBodies(open.db, RETENTION, going)
    await remove()
    const first = await open.record(String(ids[0]))
    expect((await withBody(source, first)).raw.length()).toBeGreaterThan(0)
    await open.events.updateOne({ _id: first._id }, { $set: OVER })
    await stripOldBodies(open.db, RETENTION, going)
    await remove()
    expect(await bodies.countDocuments({ _id: bodyId })).toBe(0)
    expect(await open.record(String(ids[0]))).not.toHaveProperty('bodyId')
    expect(await open.events.countDocuments({ eventId: { $in: [...ids] } })).toBe(3)
  })

  it('leaves a body to a delivery that has stored it again, but has no record yet', async () => {
    const { bodyId, arrival } = await store()
    await open.events.deleteMany({ bodyId })
    await bodies.updateOne({ _id: bodyId }, { $set: { checkAt: PAST } })
    await using other = await openInbox(database)
    {
      const how = { errorCode: 8_000 }
      await using _ = await armFailPoint(database.uri, { commands: ['insert'], appName: other.appName, how })
      await other.inbox.recordBatch(arrival)
    }
    await removeUnusedBodies(open.db, going)
    expect(await bodies.countDocuments({ _id: bodyId })).toBe(1)
  })

  it('removes nothing that a delivery stores again between the check and the removal', async () => {
    const { bodyId, arrival, rawBody } = await store()
    await open.events.deleteMany({ bodyId })
    await bodies.updateOne({ _id: bodyId }, { $set: { checkAt: PAST } })
    await using other = await openInbox(database)
    const how = { blockConnection: true, blockTimeMS: 3_000 }
    await using _ = await armFailPoint(database.uri, { commands: ['delete'], appName: open.appName, how })
    const before = open.commands.length
    const removing = removeUnusedBodies(open.db, going)
    const begun = () => open.commands.slice(before).map(({ commandName }) => commandName)
    await expect.poll(begun).toContain('delete')
    expect(await other.inbox.recordBatch(arrival)).toEqual(['recorded', 'recorded', 'recorded'])
    await removing
    expect((await bodies.findOne({ _id: bodyId }))?.raw.toString()).toBe(rawBody.toString())
  })
})
