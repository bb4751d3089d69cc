import { type CreateIndexesOptions, type Db, type IndexSpecification, MongoClient } from 'mongodb'
import { MongoMemoryReplSet } from 'mongodb-memory-server-core'
import { describe, expect, it } from 'vitest'
import { findMongod } from '../../../../scripts/mongod/find-mongod.ts'
import { SMALL_SERVER, TEST_COMMANDS } from '../../../../scripts/mongod/mongod-arguments.ts'
import { problemsIn } from '../testing/settings-problems.ts'
import { testDatabase } from '../testing/test-database.ts'
import { ensureIndexes, type NeededIndex } from './ensure-indexes.ts'

const UNIQUE = { name: 'by_event', key: { provider: 1, eventId: 1 }, unique: true } as const
const PARTIAL = {
  name: 'by_payment',
  key: { 'payment.provider': 1, 'payment.id': 1 },
  unique: true,
  partialFilterExpression: { 'payment.id': { $type: 'string' }, status: { $in: ['paid', 'payment_failed'] } },
} as const
const EXPIRING = { name: 'expiry', key: { expireAt: 1 }, expireAfterSeconds: 0 } as const
const SPARSE = { name: 'by_lease', key: { leaseUntil: 1, _id: -1 }, sparse: true } as const
const HASHED = { name: 'by_hash', key: { bodyHash: 'hashed' } } as const
const SHAPES: readonly NeededIndex[] = [UNIQUE, PARTIAL, EXPIRING, SPARSE, HASHED]

const ensure = (db: Db, ...indexes: NeededIndex[]): Promise<void> =>
  ensureIndexes(db, [{ collection: 'events', indexes }])

const problemsOf = (work: Promise<void>) => work.then(() => [], problemsIn)

describe('ensureIndexes', () => {
  it('creates missing indexes, and finds them correct the next time, even with a name list in another order', async () => {
    await using database = await testDatabase(process.env)
    await ensure(database.db, ...SHAPES)
    const listed = await database.db.collection('events').indexes()
    expect(listed).toEqual(expect.arrayContaining(SHAPES.map((shape) => expect.objectContaining(shape))))
    await ensure(database.db, ...SHAPES)
    await ensure(database.db, ...SHAPES.toReversed())
    expect(await database.db.collection('events').indexes()).toEqual(listed)
  })

  it('waits for an index that is listed while it is still being built', async () => {
    const { binary, version } = await findMongod({ env: process.env, say: () => undefined })
    const server = await MongoMemoryReplSet.create({
      binary: { systemBinary: binary, version, checkMD5: false },
      instanceOpts: [{ launchTimeout: 120_000 }],
      replSet: {
        name: 'slow',
        ip: '127.0.0.1',
        storageEngine: 'wiredTiger',
        args: [...SMALL_SERVER, ...TEST_COMMANDS],
      },
    })
    const client = await new MongoClient(server.getUri()).connect()
    const hang = (mode: string): Promise<unknown> =>
      client.db('admin').command({ configureFailPoint: 'hangAfterStartingIndexBuild', mode })
    try {
      const db = client.db('test')
      await db.collection('events').insertOne({ provider: 'stripe', eventId: 'one' })
      await hang('alwaysOn')
      const building = ensure(db, UNIQUE, EXPIRING)
      await expect.poll(() => db.collection('events').indexes()).toHaveLength(3)
      await expect(ensure(db, UNIQUE)).rejects.toThrow('Index by_event of events is still being built')
      await hang('off')
      await building
      await ensure(db, UNIQUE)
    } finally {
      await client.close()
      await server.stop({ doCleanup: true, force: true })
    }
  })

  it('makes the collection too, so that the first write needs no right to do so', async () => {
    await using database = await testDatabase(process.env)
    await ensureIndexes(database.db, [{ collection: 'plain', indexes: [] }])
    expect(await database.db.listCollections({ name: 'plain' }).toArray()).toHaveLength(1)
  })

  it.each([
    ['asks the storage engine for what an index wants of it', 'leaf_page_max=4KB', 'leaf_page_max=4KB'],
    ['makes an index without what the storage engine refuses', 'no_such_option=1', 'leaf_page_max=16k'],
  ])('%s, and finds it right the next time', async (_, wanted, found) => {
    await using database = await testDatabase(process.env)
    const index = { ...UNIQUE, storageEngine: { wiredTiger: { configString: wanted } } }
    await ensure(database.db, index, EXPIRING)
    await ensure(database.db, index, EXPIRING)
    const [statistics] = await database.db
      .collection('events')
      .aggregate([{ $collStats: { storageStats: {} } }])
      .toArray()
    expect(statistics?.storageStats.indexDetails[UNIQUE.name].creationString).toContain(found)
  })

  it.each<[string, NeededIndex, IndexSpecification, CreateIndexesOptions, string]>([
    ['another key', UNIQUE, { provider: 1 }, { unique: true }, 'key'],
    ['another order of the key', UNIQUE, { eventId: 1, provider: 1 }, { unique: true }, 'key'],
    ['another direction', SPARSE, { leaseUntil: 1, _id: 1 }, { sparse: true }, 'key'],
    ['another kind of key', HASHED, { bodyHash: 1 }, {}, 'key'],
    ['no uniqueness', UNIQUE, UNIQUE.key, {}, 'unique'],
    ['a uniqueness that is not wanted', { name: 'a', key: { a: 1 } }, { a: 1 }, { unique: true }, 'unique'],
    ['no filter', PARTIAL, PARTIAL.key, { unique: true }, 'partialFilterExpression'],
    [
      'another filter',
      PARTIAL,
      PARTIAL.key,
      { unique: true, partialFilterExpression: { 'payment.id': { $exists: true } } },
      'partialFilterExpression',
    ],
    [
      'a filter that is not wanted',
      UNIQUE,
      UNIQUE.key,
      { unique: true, partialFilterExpression: { provider: 'stripe' } },
      'partialFilterExpression',
    ],
    ['no expiry', EXPIRING, EXPIRING.key, {}, 'expireAfterSeconds'],
    ['another expiry', EXPIRING, EXPIRING.key, { expireAfterSeconds: 60 }, 'expireAfterSeconds'],
    [
      'an expiry that is not wanted',
      { name: 'a', key: { a: 1 } },
      { a: 1 },
      { expireAfterSeconds: 0 },
      'expireAfterSeconds',
    ],
    ['no sparseness', SPARSE, SPARSE.key, {}, 'sparse'],
    ['a collation', UNIQUE, UNIQUE.key, { unique: true, collation: { locale: 'en', strength: 2 } }, 'collation'],
    ['two differences', UNIQUE, { provider: 1 }, { sparse: true }, 'key, unique, sparse'],
  ])('names an index that has %s', async (...[, needed, key, options, parts]) => {
    await using database = await testDatabase(process.env)
    await database.db.collection('events').createIndex(key, { ...options, name: needed.name })
    const problems = await problemsOf(ensure(database.db, needed))
    expect(problems).toEqual([`Index ${needed.name} of events has another shape: ${parts}`])
  })

  it('FP-29: refuses to make a unique index over duplicates, without showing them', async () => {
    await using database = await testDatabase(process.env)
    const twice = () => ({ provider: 'stripe', eventId: 'canary' })
    await database.db.collection('events').insertMany([twice(), twice()])
    const problems = await problemsOf(ensure(database.db, UNIQUE, EXPIRING))
    expect(problems).toEqual(['Index by_event of events cannot be created: duplicates already exist'])
    expect((await database.db.collection('events').indexes()).map(({ name }) => name)).toContain('expiry')
  })

  it('FP-29: refuses an index whose key exists under another name, and one that is impossible', async () => {
    await using database = await testDatabase(process.env)
    await database.db.collection('events').createIndex(EXPIRING.key, { name: 'other' })
    const impossible = { name: 'impossible', key: { a: 1 }, sparse: true, partialFilterExpression: { a: 1 } }
    expect(await problemsOf(ensure(database.db, EXPIRING, impossible))).toEqual([
      'Index expiry of events cannot be created (IndexOptionsConflict)',
      'Index impossible of events cannot be created (CannotCreateIndex)',
    ])
  })

  it('names all problems of all collections at once', async () => {
    await using database = await testDatabase(process.env)
    await database.db.collection('events').createIndex({ a: 1 }, { name: UNIQUE.name })
    await database.db.collection('orders').createIndex({ a: 1 }, { name: EXPIRING.name })
    const needed = [
      { collection: 'events', indexes: [UNIQUE, SPARSE] },
      { collection: 'orders', indexes: [EXPIRING] },
    ]
    expect(await problemsOf(ensureIndexes(database.db, needed))).toEqual([
      'Index by_event of events has another shape: key, unique',
      'Index expiry of orders has another shape: key, expireAfterSeconds',
    ])
  })
})
