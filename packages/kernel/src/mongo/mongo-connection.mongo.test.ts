import { inspect } from 'node:util'
import { type CommandStartedEvent, MongoServerError } from 'mongodb'
import { describe, expect, it, vi } from 'vitest'
import { findMongod } from '../../../../scripts/mongod/find-mongod.ts'
import { startThrowawayMongod } from '../../../../scripts/mongod/throwaway-mongod.ts'
import { startStandaloneMongod } from '../../../../test/support/mongod/standalone-mongod.ts'
import { Secret } from '../secrets/secret.ts'
import { SettingsError } from '../settings/settings.ts'
import { memoryLogger } from '../testing/memory-logger.ts'
import { testDatabase } from '../testing/test-database.ts'
import { MAJORITY } from './majority.ts'
import { checkHello, createMongoConnection, type MongoConnection, type MongoOptions } from './mongo-connection.ts'

const OTHER_NODES = 'sets another read preference: remove it or set readPreference=primary'
const OTHER_CONCERN = 'sets another read concern: remove it or set readConcernLevel=majority'
const PASSWORD = 'canary-5f1c0b9e'

/** A connection and its log, closed at the end of the scope. */
function connection(uri: Secret, options: Partial<MongoOptions> = {}) {
  const { logger, lines } = memoryLogger()
  const made = createMongoConnection({
    uri,
    database: 'test',
    appName: 'kernel-test',
    maxPoolSize: 2,
    logger,
    ...options,
  })
  return { ...made, lines, [Symbol.asyncDispose]: () => made.close() }
}

/** Waits until the database answers. On a busy machine, an answer may come too late. */
async function answers(made: MongoConnection): Promise<void> {
  await vi.waitFor(() => made.ping(), { timeout: 120_000 })
}

async function refusalOf(work: () => unknown): Promise<SettingsError> {
  try {
    await work()
  } catch (error) {
    if (error instanceof SettingsError) return error
    throw error
  }
  throw new Error('It was not refused')
}

describe('createMongoConnection', () => {
  it.each<readonly [query: string, problem: string]>([
    ['w=1', 'sets a write concern below majority'],
    ['w=0', 'sets a write concern below majority'],
    ['w=2', 'sets a write concern below majority'],
    ['w=backup', 'sets a write concern below majority'],
    ['journal=false', 'disables the journal'],
    ['w=majority&journal=false', 'disables the journal'],
    ['W=1', 'sets a write concern below majority'],
    ['JOURNAL=false', 'disables the journal'],
    ...['primaryPreferred', 'secondary', 'secondaryPreferred', 'nearest'].map(
      (mode) => [`readPreference=${mode}`, OTHER_NODES] as const,
    ),
    ['READPREFERENCE=secondary&readPreferenceTags=dc:1', OTHER_NODES],
    ...['available', 'snapshot', 'linearizable'].map((level) => [`readConcernLevel=${level}`, OTHER_CONCERN] as const),
  ])('refuses an address with %s', async (query, problem) => {
    const uri = new Secret(`mongodb://u:${PASSWORD}@127.0.0.1:9/?${query}`)
    const refusal = await refusalOf(() => connection(uri))
    expect(refusal.problems).toEqual([`MONGODB_URI ${problem}`])
  })

  it.each([
    `mongodb://u:${PASSWORD}@/x`,
    `mongodb://u:${PASSWORD}@127.0.0.1:99999`,
    `mongodb://u:${PASSWORD}@127.0.0.1:9/?${PASSWORD}=1`,
    `mongodb://u:${PASSWORD}@127.0.0.1:9/?tls=${PASSWORD}`,
    `mongodb://u:${PASSWORD}@127.0.0.1:9/?w=majority&w=${PASSWORD}`,
    `mongodb://u:${PASSWORD}%@127.0.0.1:9/`,
    `mongodb://u:${PASSWORD}/@127.0.0.1:9/`,
    `mongodb+srv://u:${PASSWORD}@127.0.0.1:9/`,
    `http://u:${PASSWORD}@127.0.0.1`,
    PASSWORD,
  ])('refuses a malformed address without printing it (%#)', async (uri) => {
    const refusal = await refusalOf(() => connection(new Secret(uri)))
    expect(refusal.message).toMatch(/^MONGODB_URI \w/)
    expect(inspect(refusal, { depth: null, showHidden: true })).not.toContain('canary')
  })
})

describe('checkHello', () => {
  const set = { setName: 'rs0', isWritablePrimary: false }

  it.each([
    [
      'of a replica set behind a router',
      { msg: 'isdbgrid', isWritablePrimary: true },
      false,
      'MONGODB_URI names a mongos',
    ],
    [
      'that follows another, by a direct connection',
      { ...set, primary: 'other:27017' },
      true,
      'remove directConnection',
    ],
    ['that only votes', { ...set, arbiterOnly: true }, false, 'remove directConnection'],
    ['that follows another since a moment', { ...set, primary: 'other:27017' }, false, 'The node is not a primary'],
    ['in an election', set, true, 'The node is not a primary'],
  ])('refuses a node %s', (_, hello, isDirect, problem) => {
    expect(() => checkHello(hello, isDirect)).toThrow(problem)
  })
})

describe.concurrent('open', () => {
  it('connects, prepares and shows itself under its name', async ({ expect }) => {
    await using database = await testDatabase(process.env)
    await using made = connection(database.uri, { database: database.name, appName: 'kernel-test-open' })
    await expect(made.ping()).rejects.toThrow('The database is not open yet')
    await made.open(async (db) => {
      expect(db.databaseName).toBe(database.name)
      await expect(made.ping()).rejects.toThrow('The database is not open yet')
    })
    await answers(made)
    const { inprog } = await database.client
      .db('admin')
      .command({ currentOp: 1, $all: true, 'clientMetadata.application.name': 'kernel-test-open' })
    expect(inprog.length).toBeGreaterThan(0)
    expect(made.lines).toEqual([])
  })

  it('sends every write with majority and journal', async ({ expect }) => {
    await using database = await testDatabase(process.env)
    await using made = connection(database.uri, { database: database.name, monitorCommands: true })
    const sent: CommandStartedEvent[] = []
    made.client.on('commandStarted', (event) => void sent.push(event))
    await made.open()
    const things = made.db.collection<{ _id: number }>('things')
    await things.insertOne({ _id: 1 })
    await things.updateOne({ _id: 1 }, { $set: { a: 1 } })
    await things.findOneAndUpdate({ _id: 1 }, { $set: { a: 2 } })
    await things.bulkWrite([{ insertOne: { document: { _id: 2 } } }])
    await things.deleteOne({ _id: 1 })
    await made.db.command({ insert: 'things', documents: [{ _id: 3 }], writeConcern: MAJORITY })
    const writes = sent.filter(({ commandName }) =>
      ['insert', 'update', 'findAndModify', 'delete'].includes(commandName),
    )
    expect(writes).toHaveLength(6)
    for (const { command } of writes) expect(command.writeConcern).toEqual({ w: 'majority', j: true, wtimeout: 4_000 })
  })

  it('retries after a temporary error of the preparation, and gives up on one that a person must fix', async ({
    expect,
  }) => {
    await using database = await testDatabase(process.env)
    await using made = connection(database.uri, { database: database.name })
    const failures = [new MongoServerError({ message: PASSWORD, code: 13 }), new SettingsError(['Index x is wrong'])]
    const refusal = await refusalOf(() => made.open(() => Promise.reject(failures.shift())))
    expect(refusal.problems).toEqual(['Index x is wrong'])
    expect(failures).toEqual([])
    expect(made.lines).toMatchObject([{ msg: 'mongodb.unreachable', error: { name: 'MongoServerError', code: 13 } }])
    expect(JSON.stringify(made.lines)).not.toContain('canary')
  })

  it('refuses a standalone server, even if the URI names a replica set', async ({ expect }) => {
    await using server = await startStandaloneMongod()
    await using plain = connection(new Secret(server.uri))
    expect((await refusalOf(() => plain.open())).problems).toEqual([
      'MONGODB_URI names a standalone server: a replica set is required, one member is enough',
    ])
    await expect(plain.ping()).rejects.toThrow('The database is not open yet')
    await using named = connection(new Secret(`${server.uri}?replicaSet=rs0`))
    expect((await refusalOf(() => named.open())).problems).toEqual([
      'MONGODB_URI names a replica set, but no server there belongs to it: they are standalone or in another set',
    ])
  })

  it('is not there any more when the node that it is bound to steps down, and waits for its election', async ({
    expect,
  }) => {
    await using server = await startThrowawayMongod(await findMongod({ env: process.env, say: () => undefined }))
    const uri = new Secret(`${server.uri.split('?')[0]}?directConnection=true`)
    await using made = connection(uri)
    await made.open()
    await answers(made)
    const admin = made.client.db('admin')
    await admin.command({ replSetStepDown: 120, force: true })
    await expect(made.ping()).rejects.toThrow('The node is not a primary')
    await using waiting = connection(uri)
    const opening = waiting.open()
    await expect.poll(() => waiting.lines).toMatchObject([{ msg: 'mongodb.unreachable' }])
    await admin.command({ replSetFreeze: 0 })
    await opening
    await answers(made)
  })
})
