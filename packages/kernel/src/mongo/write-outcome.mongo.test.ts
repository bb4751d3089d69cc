import { type Document, MongoClient, MongoWriteConcernError } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { unavailable } from '../http/error-codes.ts'
import { armFailPoint } from '../testing/fail-point.ts'
import { testDatabase } from '../testing/test-database.ts'
import { MAJORITY } from './majority.ts'
import { errorClass, isDuplicateKey, toUnavailable, writeResultsOf } from './write-outcome.ts'

const APP = 'kernel-write-outcome'
const CONCERN = { writeConcernError: { code: 64, errmsg: 'waiting for replication timed out' } }

interface Thing {
  readonly _id: number
  readonly name?: string
  readonly note?: string
}

/** A separate collection, accessed by a client that fail points can select. */
async function things() {
  const database = await testDatabase(process.env)
  const client = await new MongoClient(database.uri.reveal(), { appName: APP, retryWrites: false }).connect()
  const db = client.db(database.name)
  const collection = db.collection<Thing>('things')
  await collection.createIndex({ name: 1 }, { name: 'by_name', unique: true, sparse: true })
  return {
    db,
    collection,
    failing: (commands: readonly string[], how: Document) =>
      armFailPoint(database.uri, { commands, appName: APP, how }),
    insert: (documents: readonly Thing[]): Promise<Document> =>
      db.command({ insert: 'things', documents, ordered: false, writeConcern: MAJORITY }),
    async [Symbol.asyncDispose]() {
      await client.close()
      await database[Symbol.asyncDispose]()
    },
  }
}

const thrownBy = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => {
      throw new Error('Nothing was thrown')
    },
    (error: unknown) => error,
  )

describe('writeResultsOf', () => {
  it('distinguishes stored records from duplicates, each at its place', async () => {
    await using store = await things()
    expect(writeResultsOf(await store.insert([{ _id: 1 }, { _id: 2 }]), 2)).toEqual(['stored', 'stored'])
    const reply = await store.insert([{ _id: 3 }, { _id: 1 }, { _id: 4 }, { _id: 4 }, { _id: 2 }])
    expect(writeResultsOf(reply, 5)).toEqual(['stored', 'duplicate', 'stored', 'duplicate', 'duplicate'])
  })

  it('reports unknown if another unique index refused a write than the one that is named', async () => {
    await using store = await things()
    await store.insert([{ _id: 1, name: 'a' }])
    const reply = await store.insert([{ _id: 1 }, { _id: 2, name: 'a' }])
    expect(writeResultsOf(reply, 2, { name: 1 })).toEqual(['unknown', 'duplicate'])
    expect(writeResultsOf(reply, 2)).toEqual(['duplicate', 'duplicate'])
  })

  it('reports unknown if a write was refused for another reason', async () => {
    await using store = await things()
    await store.db.command({ collMod: 'things', validator: { note: { $ne: 'bad' } }, validationLevel: 'strict' })
    const reply = await store.insert([{ _id: 1 }, { _id: 2, note: 'bad' }, { _id: 1 }])
    expect(writeResultsOf(reply, 3)).toEqual(['stored', 'unknown', 'duplicate'])
  })

  it('calls everything unknown when the majority did not confirm, also the duplicates', async () => {
    await using store = await things()
    await store.insert([{ _id: 1 }])
    await using _failing = await store.failing(['insert'], CONCERN)
    const error = await thrownBy(store.insert([{ _id: 1 }, { _id: 2 }]))
    expect(error).toBeInstanceOf(MongoWriteConcernError)
    const { errorResponse: reply } = error as MongoWriteConcernError
    expect(reply.writeErrors).toHaveLength(1)
    expect(writeResultsOf(reply, 2)).toEqual(['unknown', 'unknown'])
    expect([errorClass(error), isDuplicateKey(error)]).toEqual(['server_64', false])
    expect(await store.collection.countDocuments()).toBe(2)
  })
})

describe('isDuplicateKey', () => {
  it('recognises a certain duplicate, whatever the write and the index', async () => {
    await using store = await things()
    await store.collection.insertMany([
      { _id: 1, name: 'a' },
      { _id: 2, name: 'b' },
    ])
    const { collection } = store
    const attempts: [string, () => Promise<unknown>][] = [
      ['_id_', () => collection.insertOne({ _id: 1 })],
      ['by_name', () => collection.insertOne({ _id: 3, name: 'a' })],
      ['by_name', () => collection.updateOne({ _id: 2 }, { $set: { name: 'a' } })],
      ['by_name', () => collection.updateOne({ _id: 2 }, [{ $set: { name: 'a' } }])],
      ['by_name', () => collection.updateOne({ _id: 9 }, { $set: { name: 'a' } }, { upsert: true })],
      ['by_name', () => collection.findOneAndUpdate({ _id: 2 }, { $set: { name: 'a' } })],
      ['by_name', () => collection.replaceOne({ _id: 2 }, { name: 'a' })],
    ]
    for (const [index, attempt] of attempts) {
      const error = await thrownBy(attempt())
      expect(isDuplicateKey(error)).toBe(true)
      expect(isDuplicateKey(error, index)).toBe(true)
      expect(isDuplicateKey(error, index === '_id_' ? 'by_name' : '_id_')).toBe(false)
      expect(isDuplicateKey(error, 'by')).toBe(false)
    }
  })

  it('is not deceived by a value that names another index', async () => {
    await using store = await things()
    const name = 'x" } index: _id_ dup key: { : "E11000 duplicate key error collection: t.things index: _id_ '
    await store.collection.insertOne({ _id: 1, name })
    const error = await thrownBy(store.collection.insertOne({ _id: 2, name }))
    expect(isDuplicateKey(error, 'by_name')).toBe(true)
    expect(isDuplicateKey(error, '_id_')).toBe(false)
  })

  it.each(['insert', 'update', 'findAndModify'])(
    'says no when the majority did not confirm a duplicate: %s',
    async (command) => {
      await using store = await things()
      await store.collection.insertMany([
        { _id: 1, name: 'a' },
        { _id: 2, name: 'b' },
      ])
      const writes: Record<string, () => Promise<unknown>> = {
        insert: () => store.collection.insertOne({ _id: 1 }),
        update: () => store.collection.updateOne({ _id: 2 }, { $set: { name: 'a' } }),
        findAndModify: () => store.collection.findOneAndUpdate({ _id: 2 }, { $set: { name: 'a' } }),
      }
      await using _failing = await store.failing([command], CONCERN)
      const error = await thrownBy(writes[command]?.() ?? Promise.resolve())
      expect(isDuplicateKey(error)).toBe(false)
      expect(toUnavailable(error)).not.toBeNull()
    },
  )
})

describe('toUnavailable', () => {
  it.each([
    ['a majority that did not confirm', CONCERN, 'server_64'],
    ['a connection that closes', { closeConnection: true }, 'MongoNetworkError'],
    ['a server that stops', { errorCode: 11_600 }, 'server_11600'],
    ['a server that is no longer primary', { errorCode: 10_107 }, 'server_10107'],
  ])('turns %s into a refusal that may be tried again', async (_what, how, reason) => {
    await using store = await things()
    await using _failing = await store.failing(['insert'], how)
    const error = await thrownBy(store.collection.insertOne({ _id: 1 }))
    expect([errorClass(error), isDuplicateKey(error)]).toEqual([reason, false])
    const refusal = toUnavailable(error)
    expect(unavailable.is(refusal)).toBe(true)
    expect(refusal).toMatchObject({ status: 503, retry: 'later', details: { reason }, cause: error })
  })
})
