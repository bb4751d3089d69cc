import { randomUUID } from 'node:crypto'
import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { NO_ENCRYPTION } from '@oncehook/kernel/testing/test-encryption'
import { EVENTS } from '@oncehook/queue/task'
import { Binary, ObjectId } from 'mongodb'
import { afterAll, beforeEach, expect, it } from 'vitest'
import type { EventDocument } from '../inbox/event-document.ts'
import { eraseEvents } from '../inbox/retention/erase-events.ts'
import { searchToEnd } from '../operator/replays/replay-runner.ts'
import { readSlice } from '../operator/replays/replay-slice.ts'
import { createReplays, REPLAYS, type ReplayDocument } from '../operator/replays/replays.ts'
import { sampleRecord } from '../testing/sample-record.ts'
import { startOperatedSystem } from '../testing/start-operated-system.ts'
import { keepOutErased } from './erasure.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const { db } = database
const system = stack.use(await startOperatedSystem(database))
const operator = system.operator()
const events = db.collection<EventDocument>(EVENTS)
const jobs = db.collection<ReplayDocument>(REPLAYS)
const replays = createReplays(db)
const reason = 'asked for by mail'

beforeEach(async () => {
  await Promise.all([events.deleteMany(), jobs.deleteMany()])
})

/** A stored event, and the statement with which a backfill that has read it inserts its task. No process runs it. */
async function readEvent() {
  const raw = new Binary(Buffer.from(`{"name":"Name ${randomUUID()}"}`))
  const stored = sampleRecord({ raw, bodyHash: randomUUID() })
  await events.insertOne(stored)
  const _id = new ObjectId()
  const options = { ratePerSecond: null, includeDone: true, handler: 'search' }
  await replays.start(_id, { by: 'alice', reason, target: { filter: {} }, ...options }, 1)
  const replay = await jobs.findOne({ _id })
  const deps = { db, encryption: NO_ENCRYPTION, providers: () => new Map(), fetch, findWanting: () => () => ['search'] }
  const part = searchToEnd(db, replay!, { limit: 100, maxTimeMS: 4_000 })
  const { updates } = await readSlice(deps, replay!, part, 100)
  expect(updates).toHaveLength(1)
  return { _id, stored, send: () => bulkUpdate(db, { update: EVENTS, updates: updates.map((one) => one.statement) }) }
}

const erase = ({ provider, eventId }: EventDocument) => operator.erase.mutate({ provider, eventId, reason })

it.each(['running', 'cancelled'])(
  'keeps the task of a %s backfill out, even if its process is killed at once',
  async (state) => {
    const { _id, stored, send } = await readEvent()
    if (state === 'cancelled') await replays.cancel(String(_id))
    expect(await erase(stored)).toMatchObject({ matched: 1, erased: 1 })
    // Nothing looks afterwards.
    await send()
    const left = await events.find({ eventId: stored.eventId }).sort({ handler: 1 }).toArray()
    const { provider, eventId, bodyHash, receivedAt } = stored
    const keyAlone = { provider, eventId, bodyHash, receivedAt, state: 'done', reason: 'erased' }
    expect(left).toMatchObject([keyAlone, { ...keyAlone, handler: 'search' }])
    for (const record of left) expect(record).not.toHaveProperty('raw')
    expect(await erase(stored)).toMatchObject({ matched: 0 })
  },
)

it('leaves a task that came first as it is', async () => {
  const { stored, send } = await readEvent()
  await send()
  const task = await events.findOne({ handler: 'search' })
  expect(await eraseEvents(db, [stored])).toBe(1)
  await keepOutErased(db, [stored._id])
  expect(await events.findOne({ handler: 'search' })).toEqual(task)
})

it('leaves no key for a handler whose backfill is over', async () => {
  const { _id, stored } = await readEvent()
  await jobs.updateOne({ _id }, { $set: { state: 'finished', finishedAt: new Date(Date.now() - 120_000) } })
  expect(await erase(stored)).toMatchObject({ matched: 1, erased: 1 })
  expect(await events.find({ eventId: stored.eventId }).toArray()).toMatchObject([{ reason: 'erased' }])
})
