import { EVENT_INDEXES, EVENTS } from '@oncehook/gateway/inbox/event-document'
import { slotOf } from '@oncehook/gateway/inbox/slots/slot'
import { sampleRecord } from '@oncehook/gateway/testing/sample-record'
import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { armFailPoint } from '@oncehook/kernel/testing/fail-point'
import { type TestDatabase, testDatabase } from '@oncehook/kernel/testing/test-database'
import { MinKey, MongoServerError } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { REQUIRES_SLOTS } from '../shard/observe-cluster.ts'
import type { StepName } from '../shard/plan-sharding.ts'
import { startFakeMongos } from '../testing/fake-mongos.ts'
import { runCommand } from '../testing/run-command.ts'

const HOUR_MS = 3_600_000

interface Shown {
  readonly isSharded: boolean
  readonly steps: readonly { readonly name: StepName; readonly state: string; readonly why: string | null }[]
}

/** Two databases behind what claims to be a mongos, and the command on them. */
async function openSharding() {
  await using resources = new AsyncDisposableStack()
  const gateway = resources.use(await testDatabase(process.env))
  const fulfilment = resources.use(await testDatabase(process.env))
  const mongos = resources.use(await startFakeMongos(Number(new URL(gateway.uri.reveal()).port)))
  const shard = (...args: string[]) => runShard({ uri: mongos.uri, gateway, fulfilment }, args)
  const shown = async (...args: string[]): Promise<Shown & { readonly exitCode: number }> => {
    const { exitCode, stdout } = await shard(...args, '--json')
    return { ...JSON.parse(stdout), exitCode }
  }
  const owned = resources.move()
  return { gateway, fulfilment, mongos, shard, shown, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

function runShard(
  {
    uri,
    gateway,
    fulfilment,
  }: { readonly uri: string; readonly gateway: TestDatabase; readonly fulfilment: TestDatabase },
  args: readonly string[],
) {
  const settings: Record<string, string> = {
    MONGODB_URI: uri,
    GATEWAY_DB: gateway.name,
    FULFILMENT_DB: fulfilment.name,
  }
  return runCommand(['shard', ...args], { readEnv: (name) => settings[name] })
}

/** Records as release 0.1.0 stored them, without slots. */
async function storeOld({ db }: TestDatabase, count: number, receivedAt = new Date(Date.now() - HOUR_MS)) {
  await ensureIndexes(db, [EVENT_INDEXES])
  const records = Array.from({ length: count }, (_, index) => sampleRecord({ eventId: `evt_${index}`, receivedAt }))
  await db.collection(EVENTS).insertMany(records)
}

function requireSlots({ db }: TestDatabase): Promise<unknown> {
  const rule = { validator: REQUIRES_SLOTS, validationLevel: 'moderate', validationAction: 'error' }
  return db.command({ collMod: EVENTS, ...rule })
}

const statesOf = ({ steps }: Shown): string[] => steps.map(({ name, state }) => `${name} ${state}`)

describe('oncehook shard', () => {
  it('prints what is to be done, and changes nothing', async () => {
    await using sharding = await openSharding()
    await storeOld(sharding.gateway, 3)
    const { exitCode, stdout } = await sharding.shard('--plan')
    expect(exitCode).toBe(0)
    expect(stdout.split('\n').map((line) => line.split(/\s{2,}/)[0])).toEqual([
      'STATE',
      ...Array(6).fill('open'),
      'done',
      'open',
      'open',
      '',
    ])
    expect(sharding.mongos.commands).toEqual([])
    expect(await sharding.gateway.db.collection(EVENTS).countDocuments({ slot: { $exists: true } })).toBe(0)
    expect((await sharding.gateway.db.collection(EVENTS).indexes()).map(({ name }) => name)).not.toContain(
      'slot_provider_event',
    )
  })

  it('shards events by slot, and payments and orders by id, and repeats nothing', async () => {
    await using sharding = await openSharding()
    const { gateway, fulfilment, mongos, shard, shown } = sharding
    await storeOld(gateway, 2_500)
    const { exitCode, stderr } = await shard('--apply')
    expect(exitCode, stderr).toBe(0)
    const namespace = `${gateway.name}.${EVENTS}`
    const splits = [512, 1024, 1536, 2048, 2560, 3072, 3584].map((slot) => ({
      split: namespace,
      middle: { slot, provider: new MinKey(), eventId: new MinKey() },
    }))
    expect(mongos.commands).toEqual([
      { shardCollection: namespace, key: { slot: 1, provider: 1, eventId: 1 }, unique: true },
      ...splits,
      { shardCollection: `${fulfilment.name}.payments`, key: { _id: 'hashed' } },
      { shardCollection: `${fulfilment.name}.orders`, key: { _id: 'hashed' } },
    ])
    const events = gateway.db.collection(EVENTS)
    const records = await events.find().toArray()
    expect(records).toHaveLength(2_500)
    expect(records.filter(({ slot, provider, eventId }) => slot !== slotOf({ provider, eventId }))).toEqual([])
    const unique = (await events.indexes()).filter((index) => index.unique === true).map(({ name }) => name)
    expect(unique).toEqual(['slot_provider_event'])
    expect(await events.indexExists('provider_event')).toBe(true)
    // The services still start: their indexes exist.
    await ensureIndexes(gateway.db, [EVENT_INDEXES])
    const again = await shown('--apply')
    expect(again.exitCode).toBe(0)
    expect(new Set(again.steps.map(({ state }) => state))).toEqual(new Set(['done']))
    expect(mongos.commands).toHaveLength(splits.length + 3)
  })

  it('keeps every key unique, and refuses what a gateway of 0.1.0 would store', async () => {
    await using sharding = await openSharding()
    await storeOld(sharding.gateway, 1)
    expect((await sharding.shown('--apply')).exitCode).toBe(0)
    const events = sharding.gateway.db.collection(EVENTS)
    const codeOf = (members: object) =>
      events.insertOne({ ...sampleRecord({ eventId: 'evt_0' }), ...members }).then(
        () => 0,
        (error: unknown) => (error instanceof MongoServerError ? error.code : error),
      )
    const slot = slotOf({ provider: 'acme', eventId: 'evt_0' })
    expect(await codeOf({ slot })).toBe(11_000)
    expect(await codeOf({})).toBe(121)
  })

  it('waits while a gateway of 0.1.0 stores events', async () => {
    await using sharding = await openSharding()
    await storeOld(sharding.gateway, 1, new Date())
    const { exitCode, steps } = await sharding.shown('--apply')
    expect(exitCode).toBe(1)
    expect(steps[0]).toMatchObject({ name: 'require-slots', state: 'blocked', why: expect.stringMatching(/0\.1\.0/) })
    expect(steps.slice(1, 6).map(({ state }) => state)).toEqual(Array(5).fill('waiting'))
    expect(sharding.mongos.commands.map(({ shardCollection }) => shardCollection)).toEqual([
      `${sharding.fulfilment.name}.payments`,
      `${sharding.fulfilment.name}.orders`,
    ])
  })

  it('leaves orders alone while an index prevents second effects, and says what to do', async () => {
    await using sharding = await openSharding()
    await storeOld(sharding.gateway, 1)
    const index = { name: 'payment_pays_one_order', unique: true }
    await sharding.fulfilment.db.collection('orders').createIndex({ 'paidBy.provider': 1, 'paidBy.id': 1 }, index)
    const { exitCode, stdout } = await sharding.shard('--apply')
    expect(exitCode).toBe(1)
    expect(stdout).toMatch(/^orders: cannot .*PAYMENT_GUARD=reservation/m)
    expect(sharding.mongos.commands.map(({ shardCollection = '' }) => shardCollection).filter(Boolean)).toEqual([
      `${sharding.gateway.name}.${EVENTS}`,
    ])
    await sharding.fulfilment.db.collection('orders').dropIndexes()
    expect((await sharding.shown('--apply')).exitCode).toBe(0)
  })

  it('continues after an interruption', async () => {
    await using sharding = await openSharding()
    await storeOld(sharding.gateway, 2_500)
    {
      const how = { errorCode: 11_600 }
      await using _ = await armFailPoint(sharding.gateway.uri, {
        ...{ commands: ['update'], appName: 'oncehook shard', how },
      })
      const { exitCode, stderr } = await sharding.shard('--apply')
      expect(exitCode, stderr).toBe(1)
    }
    expect(statesOf(await sharding.shown('--plan')).slice(0, 3)).toEqual([
      ...['require-slots done', 'fill-slots open', 'unique-key open'],
    ])
    expect((await sharding.shown('--apply')).exitCode).toBe(0)
    expect(await sharding.gateway.db.collection(EVENTS).countDocuments({ slot: { $type: 'number' } })).toBe(2_500)
  })

  it('continues its walk through old records where it was interrupted', async () => {
    await using sharding = await openSharding()
    await storeOld(sharding.gateway, 2_500)
    const events = sharding.gateway.db.collection(EVENTS)
    const ids = (await events.find().sort({ _id: 1 }).toArray()).map(({ _id }) => _id)
    await requireSlots(sharding.gateway)
    // As after a walk that ended here, except that its records have no slots: nobody looks at them again.
    const progress = { _id: 'slots', after: ids[1_499], complete: false }
    await sharding.gateway.db.collection<{ _id: string }>('sharding').insertOne(progress)
    expect((await sharding.shard('--apply')).stderr).toMatch(/^ {2}1000 records examined$/m)
    const without = await events
      .find({ slot: { $exists: false } })
      .sort({ _id: 1 })
      .toArray()
    expect(without.map(({ _id }) => _id)).toEqual(ids.slice(0, 1_500))
  })

  it('gives slots to records whose ids have different types', async () => {
    await using sharding = await openSharding()
    await storeOld(sharding.gateway, 5)
    const events = sharding.gateway.db.collection<{ _id: unknown }>(EVENTS)
    const imported = Array.from({ length: 1_000 }, (_, index) => {
      const { _id, ...record } = sampleRecord({ eventId: `imported_${index}`, receivedAt: new Date(0) })
      return { _id: `text ${index}`, ...record }
    })
    await events.insertMany(imported)
    expect((await sharding.shown('--apply')).exitCode).toBe(0)
    expect(await events.countDocuments({ slot: { $type: 'number' } })).toBe(1_005)
  })

  it('walks through all records again if somebody took the rule for new ones away', async () => {
    await using sharding = await openSharding()
    await storeOld(sharding.gateway, 2)
    const { db } = sharding.gateway
    const walked = { _id: 'slots', complete: true }
    await db.collection<{ _id: string }>('sharding').insertOne(walked)
    expect((await sharding.shown('--apply')).exitCode).toBe(0)
    expect(await db.collection(EVENTS).countDocuments({ slot: { $type: 'number' } })).toBe(2)
  })

  it('says that one replica set needs nothing', async () => {
    await using database = await testDatabase(process.env)
    const place = { uri: database.uri.reveal(), gateway: database, fulfilment: database }
    const planned = await runShard(place, ['--plan'])
    expect(planned).toMatchObject({ exitCode: 0, stderr: '', stdout: expect.stringMatching(/no mongos/) })
    expect((await runShard(place, ['--apply'])).exitCode).toBe(1)
    expect(JSON.parse((await runShard(place, ['--plan', '--json'])).stdout)).toEqual({ isSharded: false, steps: [] })
  })

  it('shows no password, and says what is missing', async () => {
    const run = async (args: readonly string[], settings: Record<string, string>) => {
      const { exitCode, stdout, stderr } = await runCommand(['shard', ...args], { readEnv: (name) => settings[name] })
      expect(stdout + stderr).not.toContain('hunter2')
      return { exitCode, stderr }
    }
    expect(await run([], {})).toMatchObject({ exitCode: 2 })
    expect(await run(['--plan', '--apply'], {})).toMatchObject({ exitCode: 2 })
    expect(await run(['--plan'], {})).toEqual({ exitCode: 2, stderr: 'MONGODB_URI is not set\n' })
    const odd = { MONGODB_URI: 'mongodb://a:hunter2@' }
    expect(await run(['--plan'], odd)).toEqual({ exitCode: 2, stderr: 'MONGODB_URI cannot be parsed\n' })
    const away = { MONGODB_URI: 'mongodb://a:hunter2@127.0.0.1:1/?serverSelectionTimeoutMS=50' }
    expect(await run(['--plan'], away)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/cannot be reached/),
    })
  })
})
