import { randomUUID } from 'node:crypto'
import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { NO_ENCRYPTION } from '@oncehook/kernel/testing/test-encryption'
import { EVENTS } from '@oncehook/queue/task'
import { Binary, type CommandStartedEvent, type Db, type Document, MongoClient, ObjectId } from 'mongodb'
import { afterAll, beforeEach, expect, it } from 'vitest'
import { EVENT_INDEXES, type EventDocument, FULFILMENT } from '../../inbox/event-document.ts'
import { removeExpired } from '../../inbox/retention/remove-expired.ts'
import { sampleRecord } from '../../testing/sample-record.ts'
import type { FindWanting } from '../../webhooks/find-wanting.ts'
import { ReplayRunner, type ReplayRunnerDeps } from './replay-runner.ts'
import { createReplays, REPLAY_INDEXES, REPLAYS, type ReplayDocument } from './replays.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const appName = `backfill-${randomUUID()}`
const options = { appName, monitorCommands: true }
const client = stack.use(await new MongoClient(database.uri.reveal(), options).connect())
const db = client.db(database.name)
await ensureIndexes(db, [EVENT_INDEXES, ...REPLAY_INDEXES])
const events = db.collection<EventDocument>(EVENTS)
const jobs = db.collection<ReplayDocument>(REPLAYS)
const replays = createReplays(db)

const sent: Document[] = []
client.on('commandStarted', ({ command }: CommandStartedEvent) => sent.push(command))

beforeEach(async () => {
  await Promise.all([events.deleteMany(), jobs.deleteMany()])
  sent.length = 0
})

/** The runner of a process in which some handlers want every event. It reads the names again and again. */
function makeRunner(names: readonly string[], members: Partial<ReplayRunnerDeps> = {}): ReplayRunner {
  const onError = (error: unknown): void => {
    throw error
  }
  const findWanting: FindWanting = () => (event) => (event.type === 'of.no.effect' ? names : [])
  const handlers = { current: () => new Map(names.map((name) => [name, {}])), findWanting }
  const parts = { db, encryption: NO_ENCRYPTION, providers: () => new Map(), fetch, random: Math.random }
  return new ReplayRunner({ ...parts, handlers, logger: memoryLogger().logger, onError, ...members })
}

async function startBackfill(records: readonly EventDocument[], handler = 'search'): Promise<ObjectId> {
  if (records.length > 0) await events.insertMany([...records])
  const id = new ObjectId()
  const options = { ratePerSecond: null, includeDone: true, handler }
  const request = { by: 'alice', reason: 'a test', target: { filter: { handler: { $ne: handler } } }, ...options }
  await replays.start(id, request, await replays.match(request))
  return id
}

it('sends no more bytes at a time than the server accepts, and gets through large bodies', async () => {
  const raw = new Binary(Buffer.alloc(1_000_000, 'x'))
  const receivedAt = new Date(Date.now() - 3_600_000)
  const id = await startBackfill(Array.from({ length: 12 }, () => sampleRecord({ raw, receivedAt })))
  await makeRunner(['search']).tick()
  expect(await jobs.findOne({ _id: id })).toMatchObject({ state: 'finished' })
  expect(await events.countDocuments({ handler: 'search', state: 'pending' })).toBe(12)
  const sizes = sent.filter(({ update }) => update === EVENTS).map(({ updates }) => updates.length)
  expect(Math.max(...sizes)).toBeLessThanOrEqual(5)
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(12)
})

it('makes no second task of an event that the handler had long ago, while another handler still has a task of it', async () => {
  const expireAt = new Date(Date.now() - 1_000)
  const [gone, held] = ['gone', 'held'].map((eventId) => sampleRecord({ eventId, handler: 'search', expireAt }))
  const waiting = sampleRecord({ eventId: 'held', handler: 'billing', state: 'pending', dueAt: new Date() })
  await events.insertMany([gone, held, waiting] as EventDocument[])
  await removeExpired(db, new AbortController().signal)
  await startBackfill([])
  await makeRunner(['search']).tick()
  const left = await events.find().sort({ handler: 1 }).toArray()
  expect(left.map(({ eventId, handler, state }) => [eventId, handler, state])).toEqual([
    ['held', 'billing', 'pending'],
    ['held', 'search', 'done'],
  ])
})

it('gives fulfilment the payments that only other handlers have, if it may act on them, also without a setting of handlers', async () => {
  const payment = (facts: EventDocument['facts']) =>
    sampleRecord({ handler: 'search', type: 'payment.succeeded', facts })
  const [wanted, withheld] = [payment({}), payment({ withheld: 'effect_not_allowed' })]
  const id = await startBackfill([wanted, withheld, sampleRecord({ handler: 'search' })], FULFILMENT)
  await makeRunner([], { handlers: undefined }).tick()
  expect(await jobs.findOne({ _id: id })).toMatchObject({ state: 'finished' })
  const tasks = await events.find({ handler: FULFILMENT }).toArray()
  expect(tasks).toMatchObject([{ eventId: wanted.eventId, state: 'pending', receivedAt: wanted.receivedAt }])
})

it('uses the mapping from the receipt if the current settings cannot read a body', async () => {
  const stored = sampleRecord({ objectId: 'sub_1' })
  const id = await startBackfill([stored])
  await makeRunner(['search']).tick()
  const task = await events.findOne({ handler: 'search' })
  const { eventId, type, objectId } = stored
  expect(task).toMatchObject({ eventId, type, objectId, raw: stored.raw, state: 'pending' })
  expect(task?.replays).toMatchObject([{ id, notRead: 'provider_unknown' }])
})

it('leaves out an event whose body was removed, and logs it even if there is nothing else', async () => {
  const { logger, lines } = memoryLogger()
  const id = await startBackfill([sampleRecord({ raw: new Binary(Buffer.alloc(0)), bodyHash: 'of another body' })])
  await makeRunner(['search'], { logger }).tick()
  expect(await jobs.findOne({ _id: id })).toMatchObject({ state: 'finished', notRead: 1 })
  expect(await events.countDocuments({ handler: 'search' })).toBe(0)
  expect(lines).toContainEqual(expect.objectContaining({ msg: 'replay.events-left-out', events: 1 }))
})

it('keeps its place if its handler is removed in the middle', async () => {
  const id = await startBackfill([sampleRecord()])
  const names = ['search']
  // The settings change while the first event is read.
  const providers = () => {
    names.length = 0
    return new Map()
  }
  await makeRunner(names, { providers }).tick()
  expect(await jobs.findOne({ _id: id })).toMatchObject({ state: 'running', cursor: null })
  await jobs.updateOne({ _id: id }, { $set: { leaseUntil: new Date(0) } })
  await makeRunner(['search']).tick()
  expect(await jobs.findOne({ _id: id })).toMatchObject({ state: 'finished' })
  expect(await events.countDocuments({ handler: 'search', state: 'pending' })).toBe(1)
})

it('leaves no task of events that it had read before it was cancelled: they may have been erased since', async () => {
  const stored = sampleRecord()
  const id = await startBackfill([stored])
  // As if this process slept between its read and its write.
  const command: Db['command'] = async (sent, ...others) => {
    if (sent.update === EVENTS) await replays.cancel(String(id))
    return db.command(sent, ...others)
  }
  const sleeping = new Proxy(db, {
    get(target, name) {
      if (name === 'command') return command
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  await makeRunner(['search'], { db: sleeping }).tick()
  expect(await jobs.findOne({ _id: id })).toMatchObject({ state: 'cancelled' })
  expect(await events.find().toArray()).toEqual([stored])
})
