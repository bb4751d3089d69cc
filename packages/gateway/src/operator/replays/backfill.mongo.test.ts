import { randomUUID } from 'node:crypto'
import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { armFailPoint } from '@oncehook/kernel/testing/fail-point'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { NO_ENCRYPTION } from '@oncehook/kernel/testing/test-encryption'
import { Binary, type CommandStartedEvent, type Document, MongoClient, ObjectId } from 'mongodb'
import { afterAll, beforeEach, expect, it, vi } from 'vitest'
import type { FindWanting, WantingHandler } from '../../handlers/events/find-wanting.ts'
import { EVENT_INDEXES, EVENTS, type EventDocument } from '../../inbox/event-document.ts'
import { lineOf } from '../../inbox/lines/line.ts'
import { eraseEvents, findErasableEvents } from '../../inbox/retention/erase-events.ts'
import { ensureTaskIndexes } from '../../inbox/tasks/ensure-task-indexes.ts'
import { sampleRecord } from '../../testing/sample-record.ts'
import { readSlice } from './read-slice.ts'
import { REPLAY_INDEXES, REPLAYS, type ReplayDocument } from './replay-document.ts'
import { ReplayRunner, type ReplayRunnerDeps } from './replay-runner.ts'
import { searchToEnd } from './replay-search.ts'
import { createReplays } from './replays.ts'
import { writeSlice } from './write-slice.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const appName = `backfill-${randomUUID()}`
const options = { appName, monitorCommands: true }
const client = stack.use(await new MongoClient(database.uri.reveal(), options).connect())
const db = client.db(database.name)
await ensureIndexes(db, [EVENT_INDEXES, ...REPLAY_INDEXES])
await ensureTaskIndexes(db)
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
  return new ReplayRunner({ ...parts, handlers, logger: memoryLogger().logger, onError, marginMs: 0, ...members })
}

const SEARCH: WantingHandler = { name: 'search', events: [{ types: ['of.*'] }], orderBy: null }

async function startBackfill(records: readonly EventDocument[], handler = SEARCH): Promise<ObjectId> {
  await events.insertMany([...records])
  const id = new ObjectId()
  const options = { ratePerSecond: null, includeDone: true, handler }
  const request = { by: 'alice', reason: 'a test', target: { filter: { handler: { $ne: handler.name } } }, ...options }
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

it('costs one search at a time while its handler is not configured', async () => {
  await startBackfill([sampleRecord()])
  const runner = makeRunner(['another'])
  const rounds = vi.spyOn(runner, 'tick')
  sent.length = 0
  runner.start()
  await expect.poll(() => sent.filter(({ find }) => find === REPLAYS).length).toBe(1)
  await runner.stop()
  expect(rounds).not.toHaveBeenCalled()
})

it('goes by what the handler wanted at the request, whatever the process that runs it has read', async () => {
  const wanted = { types: ['of.no.effect'], where: [{ '/a.b': 'c' }] }
  const bodies = ['{"a.b":"c","of":"sub_1"}', '{"a.b":"another"}'].map((text) => new Binary(Buffer.from(text)))
  const [stored, ...others] = bodies.map((raw) => sampleRecord({ raw }))
  const id = await startBackfill([stored!, ...others], { ...SEARCH, events: [wanted], orderBy: '/of' })
  const findWanting: FindWanting =
    ({ rawBody }) =>
    () =>
      Buffer.from(rawBody).includes('another') ? ['search'] : []
  await makeRunner([], { handlers: { current: () => new Map([['search', {}]]), findWanting } }).tick()
  expect(await jobs.findOne({ _id: id })).toMatchObject({ state: 'finished' })
  const tasks = await events.find({ handler: 'search' }).toArray()
  expect(tasks).toMatchObject([{ eventId: stored?.eventId, line: lineOf('sub_1') }])
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

/** Erases an event, as another process does meanwhile. */
async function erase({ provider, eventId }: EventDocument): Promise<void> {
  const found = await findErasableEvents(database.db, { provider, eventId })
  expect(await eraseEvents(database.db, found)).toBe(1)
}

it('leaves nothing of an event that is erased while its task is being inserted', async () => {
  const raw = new Binary(Buffer.from('{"name":"of a person"}'))
  const [stored, other] = [sampleRecord({ raw, bodyHash: 'a' }), sampleRecord({ raw, bodyHash: 'b' })]
  const id = await startBackfill([stored, other])
  const { provider, eventId } = stored
  sent.length = 0
  const how = { blockConnection: true, blockTimeMS: 2_000 }
  await using _ = await armFailPoint(database.uri, { commands: ['update'], appName, how })
  const running = makeRunner(['search']).tick()
  await expect.poll(() => sent.some(({ update }) => update === EVENTS)).toBe(true)
  await erase(stored)
  expect(await events.countDocuments({ eventId })).toBe(1)
  await running
  const left = await events.find({ eventId }).sort({ handler: 1 }).toArray()
  const keyAlone = { provider, eventId, state: 'done', reason: 'erased', bodyHash: 'a' }
  expect(left).toMatchObject([keyAlone, { ...keyAlone, handler: 'search' }])
  for (const record of left) {
    expect(record).not.toHaveProperty('raw')
    expect(record).not.toHaveProperty('headers')
  }
  expect(await findErasableEvents(database.db, { provider, eventId })).toEqual([])
  expect(await events.findOne({ eventId: other.eventId, handler: 'search' })).toMatchObject({ state: 'pending', raw })
  expect(await replays.progress(String(id))).toMatchObject({ state: 'finished', started: 1 })
})

it('inserts no task of an event that was erased after it was read', async () => {
  const raw = new Binary(Buffer.from('{"name":"of a person"}'))
  const [stored, other] = [sampleRecord({ raw, bodyHash: 'a' }), sampleRecord({ raw, bodyHash: 'b' })]
  const replay = await jobs.findOne({ _id: await startBackfill([stored, other]) })
  const findWanting: FindWanting = () => () => ['search']
  const deps = { db, encryption: NO_ENCRYPTION, providers: () => new Map(), fetch, findWanting }
  const part = searchToEnd(db, replay!, { limit: 100, maxTimeMS: 4_000 })
  const { updates } = await readSlice(deps, replay!, { ...part, limit: 100 })
  expect(updates).toHaveLength(2)
  await erase(stored)
  expect(await writeSlice(db, replay!, updates)).toEqual([])
  expect(await events.find({ handler: 'search' }).toArray()).toMatchObject([{ eventId: other.eventId, raw }])
  expect(await events.find({ eventId: stored.eventId }).toArray()).toMatchObject([{ state: 'done', reason: 'erased' }])
})

const MARGIN_MS = 120_000

/** A record that was received some seconds before or after a time. */
function recordAt(time: number, seconds: number, members: Partial<EventDocument> = {}): EventDocument {
  return sampleRecord({ receivedAt: new Date(time + seconds * 1_000), ...members })
}

it('gives the handler what other gateways stored before they knew it, if it came soon after the request', async () => {
  const runner = makeRunner(['search'], { marginMs: MARGIN_MS })
  const startedAt = Date.now() - MARGIN_MS + 60_000
  const before = recordAt(startedAt, -5)
  const id = await startBackfill([before])
  const moved = { $set: { startedAt: new Date(startedAt) } }
  await jobs.updateOne({ _id: id }, moved)
  await runner.tick()
  expect(await events.countDocuments({ handler: 'search' })).toBe(1)
  // It waits, and another process could continue after a crash.
  const waiting = await jobs.findOne({ _id: id })
  expect(waiting).toMatchObject({ state: 'running', cursor: before._id, finishedAt: null })
  expect(waiting?.leaseUntil.getTime()).toBeLessThanOrEqual(Date.now() + 15_000)

  // The clock of one of the others is behind.
  const [after, behind, late] = [recordAt(startedAt, 30), recordAt(startedAt, -20), recordAt(startedAt, 3_600)]
  await events.insertMany([after, behind, late])
  await jobs.updateOne({ _id: id }, { $set: { leaseUntil: new Date(0) } })
  await runner.tick()
  expect(await events.countDocuments({ handler: 'search' })).toBe(1)
  expect(await jobs.findOne({ _id: id })).toMatchObject({ state: 'running' })

  await jobs.updateOne({ _id: id }, { $set: { startedAt: new Date(startedAt - 61_000), leaseUntil: new Date(0) } })
  await runner.tick()
  expect(await jobs.findOne({ _id: id })).toMatchObject({ state: 'finished' })
  const tasks = await events.find({ handler: 'search' }).toArray()
  const wanted = [before, after, behind].map(({ eventId }) => eventId)
  expect(tasks.map(({ eventId }) => eventId).toSorted()).toEqual(wanted.toSorted())
})

it('can be cancelled while it waits', async () => {
  const id = await startBackfill([sampleRecord()])
  const runner = makeRunner(['search'], { marginMs: MARGIN_MS })
  await runner.tick()
  expect(await replays.progress(String(id))).toMatchObject({ state: 'running', started: 1, finishedAt: null })
  expect(await replays.cancel(String(id))).toMatchObject({ state: 'cancelled' })
  await jobs.updateOne({ _id: id }, { $set: { leaseUntil: new Date(0) } })
  await runner.tick()
  expect(await jobs.findOne({ _id: id })).toMatchObject({ state: 'cancelled' })
})

it('looks only at the time around the request again, and counts an unreadable event once', async () => {
  const { logger, lines } = memoryLogger()
  const unreadable = { raw: new Binary(Buffer.alloc(0)), bodyHash: 'of another body' }
  const now = Date.now()
  const id = await startBackfill([recordAt(now, -3_600), recordAt(now, -3_599), recordAt(now, 0, unreadable)])
  sent.length = 0
  await makeRunner(['search'], { logger, marginMs: 0 }).tick()
  expect(await jobs.findOne({ _id: id })).toMatchObject({ state: 'finished', notRead: 3 })
  expect(lines.filter(({ msg }) => msg === 'replay.events-left-out')).toHaveLength(1)
  expect(sent.filter(({ update }) => update === EVENTS).flatMap(({ updates }) => updates)).toHaveLength(2)
})

it('ends at once if the clock of the database has gone back behind its start', async () => {
  const id = await startBackfill([sampleRecord()])
  await jobs.updateOne({ _id: id }, { $set: { startedAt: new Date(Date.now() + 86_400_000) } })
  await makeRunner(['search'], { marginMs: MARGIN_MS }).tick()
  expect(await jobs.findOne({ _id: id })).toMatchObject({ state: 'finished' })
})

it('waits two minutes unless it is given another margin', async () => {
  const id = await startBackfill([sampleRecord()])
  await makeRunner(['search'], { marginMs: undefined }).tick()
  expect(await events.countDocuments({ handler: 'search' })).toBe(1)
  expect(await jobs.findOne({ _id: id })).toMatchObject({ state: 'running', finishedAt: null })
  const moved = { startedAt: new Date(Date.now() - 110_000), leaseUntil: new Date(0) }
  await jobs.updateOne({ _id: id }, { $set: moved })
  await makeRunner(['search'], { marginMs: undefined }).tick()
  expect(await jobs.findOne({ _id: id })).toMatchObject({ state: 'running', finishedAt: null })
})

/** Takes a backfill through its first look. */
async function lookOnce(records: readonly EventDocument[]): Promise<ObjectId> {
  const id = await startBackfill(records)
  await makeRunner(['search'], { marginMs: MARGIN_MS }).tick()
  return id
}

/** The margin of a backfill is over now. What it looks at again ends a second later, so its late events are stored before. */
async function endMargin(id: ObjectId): Promise<void> {
  const moved = { startedAt: new Date(Date.now() - MARGIN_MS), leaseUntil: new Date(0) }
  await jobs.updateOne({ _id: id }, { $set: moved })
}

it('gives the handler no late event that it no longer wants', async () => {
  const id = await lookOnce([sampleRecord({ type: 'of.another' })])
  const [wanted, unwanted] = [sampleRecord(), sampleRecord({ type: 'of.another' })]
  await events.insertMany([wanted, unwanted])
  await endMargin(id)
  await makeRunner(['search'], { marginMs: MARGIN_MS }).tick()
  expect(await jobs.findOne({ _id: id })).toMatchObject({ state: 'finished' })
  const tasks = await events.find({ handler: 'search', type: { $ne: 'of.another' } }).toArray()
  expect(tasks).toMatchObject([{ eventId: wanted.eventId }])
  expect(await events.countDocuments({ handler: 'search', eventId: unwanted.eventId })).toBe(0)
})

it('spends its rate and its time on events without a task when it looks again', async () => {
  const now = Date.now()
  const before = Array.from({ length: 30 }, () => sampleRecord())
  const old = recordAt(now, -3_600)
  const id = await lookOnce([old, ...before])
  await jobs.updateOne({ _id: id }, { $set: { ratePerSecond: 5 } })
  // The tasks of another backfill: of events with a task of this handler, and of an old one that it did not want.
  const copyOf = (one: EventDocument) => ({ ...one, _id: new ObjectId(), handler: 'other', state: 'pending' as const })
  const late = sampleRecord()
  await events.insertMany([...[old, ...before, recordAt(now, -7_200)].map(copyOf), late])
  await endMargin(id)
  sent.length = 0
  const providers = vi.fn(() => new Map())
  await makeRunner(['search'], { marginMs: MARGIN_MS, providers }).tick()
  expect(await jobs.findOne({ _id: id })).toMatchObject({ state: 'finished', notRead: 32 })
  expect(providers).toHaveBeenCalledTimes(1)
  const written = sent.filter(({ update }) => update === EVENTS).flatMap(({ updates }) => updates)
  expect(written).toMatchObject([{ q: { eventId: late.eventId } }])
  expect(await events.countDocuments({ handler: 'search' })).toBe(32)
})

it('keeps to its rate when it looks again, and continues where it was', async () => {
  const id = await lookOnce([sampleRecord()])
  await jobs.updateOne({ _id: id }, { $set: { ratePerSecond: 5 } })
  await events.insertMany(Array.from({ length: 12 }, () => sampleRecord()))
  await endMargin(id)
  for (const tasks of [6, 11, 13]) {
    await makeRunner(['search'], { marginMs: MARGIN_MS }).tick()
    expect(await events.countDocuments({ handler: 'search' })).toBe(tasks)
    await jobs.updateOne({ _id: id }, { $set: { leaseUntil: new Date(0) } })
  }
  expect(await jobs.findOne({ _id: id })).toMatchObject({ state: 'finished', notRead: 13 })
})
