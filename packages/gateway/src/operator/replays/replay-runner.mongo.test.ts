import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { NO_ENCRYPTION } from '@oncehook/kernel/testing/test-encryption'
import { EVENTS } from '@oncehook/queue/task'
import { ObjectId } from 'mongodb'
import { afterAll, beforeEach, expect, it, onTestFinished } from 'vitest'
import { EVENT_INDEXES, type EventDocument } from '../../inbox/event-document.ts'
import { sampleRecord } from '../../testing/sample-record.ts'
import { ReplayRunner } from './replay-runner.ts'
import { createReplays, REPLAY_INDEXES, REPLAYS, type ReplayDocument } from './replays.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const { db } = database
await ensureIndexes(db, [EVENT_INDEXES, ...REPLAY_INDEXES])
const events = db.collection<EventDocument>(EVENTS)
const jobs = db.collection<ReplayDocument>(REPLAYS)
const replays = createReplays(db)

beforeEach(async () => {
  await Promise.all([events.deleteMany(), jobs.deleteMany()])
})

/** The runner of one process. */
function makeRunner(logger = memoryLogger().logger, search: object = {}): ReplayRunner {
  const onError = (error: unknown): void => {
    throw error
  }
  const parts = {
    db,
    encryption: NO_ENCRYPTION,
    providers: () => new Map(),
    fetch,
    random: Math.random,
    logger,
    onError,
  }
  return new ReplayRunner({ ...parts, ...search })
}

async function startReplay(count: number, ratePerSecond: number | null = null): Promise<ObjectId> {
  const records = Array.from({ length: count }, () => sampleRecord({ state: 'dead', reason: 'some' }))
  if (count > 0) await events.insertMany(records)
  const request = { by: 'alice', reason: 'a test', target: { filter: {} }, ratePerSecond, includeDone: false }
  const id = new ObjectId()
  await replays.start(id, request, await replays.match(request))
  return id
}

/** How many times events were made due again: [0, 1] if some were not, and the others once. */
async function handedOn(): Promise<number[]> {
  const found = await events.find().toArray()
  return [...new Set(found.map(({ replays: made }) => made?.length ?? 0))].sort()
}

async function stateOf(id: ObjectId): Promise<string | undefined> {
  return (await jobs.findOne({ _id: id }))?.state
}

/** Lets a runner look for work until a replay with a rate has finished. */
async function untilFinished(id: ObjectId, runner: ReplayRunner): Promise<void> {
  const look = async (): Promise<string | undefined> => {
    await runner.tick()
    return stateOf(id)
  }
  await expect.poll(look).toBe('finished')
}

it('makes all events due in slices, in one round if no rate was given', async () => {
  const id = await startReplay(250)
  await makeRunner().tick()
  expect(await handedOn()).toEqual([1])
  expect(await events.countDocuments({ state: 'pending' })).toBe(250)
  expect(await stateOf(id)).toBe('finished')
})

it('lets a small replay finish while an earlier large one continues', async () => {
  const large = await startReplay(1_100)
  const some = await events.find().sort({ _id: -1 }).limit(3).toArray()
  const small = new ObjectId()
  const target = { ids: some.map(({ _id }) => String(_id)) }
  await replays.start(small, { by: 'bob', reason: 'urgent', target, ratePerSecond: null, includeDone: false }, 3)
  await makeRunner().tick()
  const ends = async (_id: ObjectId) => (await jobs.findOne({ _id }))?.finishedAt?.getTime() ?? Number.NaN
  expect(await ends(small)).toBeLessThanOrEqual(await ends(large))
  const urgent = await events.find({ _id: { $in: some.map(({ _id }) => _id) } }).toArray()
  expect(urgent.map(({ replays: made }) => made?.map(({ by }) => by))).toEqual(some.map(() => ['bob', 'alice']))
})

it('continues in another process if the one that started it died between two slices', async () => {
  const id = await startReplay(25, 10)
  await makeRunner().tick()
  expect(await stateOf(id)).toBe('running')
  await untilFinished(id, makeRunner())
  expect(await handedOn()).toEqual([1])
  const times = (await events.find().toArray())
    .map(({ replays: made }) => made?.[0]?.at.getTime() ?? 0)
    .sort((a, b) => a - b)
  for (const [index, at] of times.entries()) expect((times[index + 10] ?? Infinity) - at).toBeGreaterThanOrEqual(1_000)
})

it('makes no event due twice if a process died before it recorded its progress', async () => {
  const id = await startReplay(25, 10)
  await makeRunner().tick()
  await events.updateOne({ state: 'pending' }, { $set: { state: 'dead' } })
  await jobs.updateOne({ _id: id }, { $set: { cursor: null, leaseUntil: new Date(0) } })
  const another = makeRunner()
  await untilFinished(id, another)
  expect(await handedOn()).toEqual([1])
  expect(await replays.progress(String(id))).toMatchObject({ matched: 25, started: 25, failed: 1 })
})

it('stops after the current slice, and another process continues at once', async () => {
  const id = await startReplay(1_500)
  const first = makeRunner()
  first.start()
  await expect.poll(() => events.countDocuments({ state: 'pending' }), { interval: 1 }).toBeGreaterThan(0)
  await first.stop()
  expect(await stateOf(id)).toBe('running')
  expect(await events.countDocuments({ state: 'pending' })).toBeLessThan(1_500)
  await makeRunner().tick()
  expect(await stateOf(id)).toBe('finished')
  expect(await handedOn()).toEqual([1])
})

it('skips an event that the server refuses to change, logs it, and ends', async () => {
  const { logger, lines } = memoryLogger()
  const id = await startReplay(150)
  const refused = await events.findOne()
  await db.command({ collMod: EVENTS, validator: { $nor: [{ _id: refused?._id, state: 'pending' }] } })
  await makeRunner(logger).tick()
  await db.command({ collMod: EVENTS, validator: {} })
  expect(await stateOf(id)).toBe('finished')
  expect(await events.countDocuments({ state: 'pending' })).toBe(149)
  const line = { msg: 'replay.event-refused', replayId: String(id), id: String(refused?._id), code: 121 }
  expect(lines.filter(({ msg }) => msg === line.msg)).toMatchObject([line])
})

it('treats texts that look like query operators as texts', async () => {
  await events.insertOne(sampleRecord({ state: 'dead', reason: 'some', orderId: '$$ROOT', type: '$where' }))
  const request = { by: '$$NOW', reason: '$state', target: { filter: {} }, ratePerSecond: null, includeDone: false }
  await replays.start(new ObjectId(), request, 1)
  await makeRunner().tick()
  const [record] = await events.find().toArray()
  expect(record?.replays).toMatchObject([{ by: '$$NOW', reason: '$state' }])
  expect(record).toMatchObject({ orderId: '$$ROOT', type: '$where' })
})

it('says which events it could not read again, in the log, with the events and in its progress', async () => {
  const { logger, lines } = memoryLogger()
  const id = await startReplay(150)
  await makeRunner(logger).tick()
  const told = lines.filter(({ msg }) => msg === 'replay.events-not-read')
  expect(told).toMatchObject([
    { replayId: String(id), why: 'provider_unknown', events: 100, first: expect.stringMatching(/^[0-9a-f]{24}$/) },
    { replayId: String(id), why: 'provider_unknown', events: 50 },
  ])
  expect(await events.countDocuments({ 'replays.notRead': 'provider_unknown' })).toBe(150)
  expect(await replays.progress(String(id))).toMatchObject({ started: 150, notRead: 150 })
})

/** Inserts events that no replay selects, inside the server. */
async function insertOthers(count: number): Promise<void> {
  const { _id, eventId: _, ...record } = sampleRecord()
  const sources = db.collection('sources')
  await sources.insertOne({ record })
  await sources
    .aggregate([
      { $project: { _id: 0, record: 1, index: { $range: [0, count] } } },
      { $unwind: '$index' },
      { $replaceWith: { $mergeObjects: ['$record', { eventId: { $toString: '$index' } }] } },
      { $merge: { into: EVENTS } },
    ])
    .toArray()
  await sources.drop()
}

it('gets through records that match nothing in parts, each behind the one before, and ends', async () => {
  const wanted = (): EventDocument => sampleRecord({ type: 'wanted', state: 'dead', reason: 'some' })
  await events.insertOne(wanted())
  await insertOthers(12_000)
  await events.insertMany([wanted(), wanted()])
  const target = { filter: { type: { $eq: 'wanted' } } }
  const id = new ObjectId()
  await replays.start(id, { by: 'alice', reason: 'a test', target, ratePerSecond: null, includeDone: true }, 3)
  // Too short for a search of all records at once.
  const runner = makeRunner(memoryLogger().logger, { searchMs: 1, partRecords: 2_000 })
  await using changes = jobs.watch([{ $match: { 'documentKey._id': id } }])
  // This opens the stream: it sees all later changes.
  await changes.tryNext()
  await runner.tick()
  expect(await stateOf(id)).toBe('finished')
  expect(await events.countDocuments({ type: 'wanted', state: 'pending' })).toBe(3)
  const cursors: string[] = []
  for await (const change of changes) {
    if (change.operationType !== 'update') continue
    const { cursor, state } = change.updateDescription.updatedFields ?? {}
    if (cursor) cursors.push(String(cursor))
    if (state === 'finished') break
  }
  // 12,003 records in parts of at most 2,000.
  expect(cursors.length).toBeGreaterThanOrEqual(6)
  expect(cursors).toEqual(cursors.toSorted())
})

it('resets everything that counted against an event', async () => {
  const id = await startReplay(1)
  const failing = { times: 9, waitedMs: 7_200_000, code: 'order_unknown', codeMs: 7_200_000 }
  await events.updateOne({}, { $set: { lost: 7, brokeAt: new Date(), failing } })
  await makeRunner().tick()
  expect(await stateOf(id)).toBe('finished')
  const record = await events.findOne()
  expect(record).toMatchObject({ state: 'pending', lost: 0 })
  for (const name of ['brokeAt', 'failing']) expect(record).not.toHaveProperty(name)
})

it('continues after the clock of the database was ahead, but not while another process is busy', async () => {
  const [ahead, busy] = [await startReplay(1), await startReplay(1)]
  await jobs.updateOne({ _id: ahead }, { $set: { leaseUntil: new Date(Date.now() + 3_600_000) } })
  await jobs.updateOne({ _id: busy }, { $set: { leaseUntil: new Date(Date.now() + 14_000) } })
  await makeRunner().tick()
  expect([await stateOf(ahead), await stateOf(busy)]).toEqual(['finished', 'running'])
})

it('looks rarely while no replay runs, and at once when one is started in its process', async () => {
  const LATE = { random: () => 400 } // Waits more than a quarter of an hour.
  const runner = makeRunner(memoryLogger().logger, LATE)
  const started = createReplays(db, () => runner.wake())
  runner.start()
  onTestFinished(() => runner.stop())
  for (let round = 0; round < 2; round += 1) {
    await events.insertOne(sampleRecord({ state: 'dead', reason: 'some' }))
    const request = { by: 'alice', reason: 'a test', target: { filter: {} }, ratePerSecond: null, includeDone: false }
    const id = new ObjectId()
    await started.start(id, request, 1)
    await expect.poll(() => stateOf(id)).toBe('finished')
  }
})
