import { MongoClient, MongoServerError, MongoWriteConcernError } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { armFailPoint } from '../testing/fail-point.ts'
import { testDatabase } from '../testing/test-database.ts'
import { bulkUpdate, sendUpdates } from './bulk-update.ts'

const APP = 'kernel-bulk-update'
const BAD = { q: { _id: 2 }, u: { $set: { note: 'bad' } } }
const GOOD = { q: { _id: 1 }, u: { $set: { note: 'good' } } }

/** A collection with three documents that rejects notes. */
async function things() {
  const database = await testDatabase(process.env)
  const client = await new MongoClient(database.uri.reveal(), { appName: APP, retryWrites: false }).connect()
  const db = client.db(database.name)
  const collection = db.collection<{ _id: number; note?: string }>('things')
  await collection.insertMany([{ _id: 1 }, { _id: 2 }, { _id: 3 }])
  await db.command({ collMod: 'things', validator: { note: { $ne: 'bad' } } })
  return {
    ...{ uri: database.uri, db },
    notes: async () => (await collection.find({}, { sort: { _id: 1 } }).toArray()).map(({ note }) => note ?? null),
    async [Symbol.asyncDispose]() {
      await client.close()
      await database[Symbol.asyncDispose]()
    },
  }
}

describe('bulkUpdate', () => {
  it('throws when the server refused a statement, and the others are stored', async () => {
    await using store = await things()
    const refused = bulkUpdate(store.db, { update: 'things', updates: [BAD, GOOD] })
    await expect(refused).rejects.toBeInstanceOf(MongoServerError)
    await expect(refused).rejects.toMatchObject({ code: 121, message: 'A statement of an update was refused' })
    expect(await store.notes()).toEqual(['good', null, null])
  })

  it('throws if no majority confirms, whatever else was refused', async () => {
    await using store = await things()
    const how = { writeConcernError: { code: 64, errmsg: 'waiting for replication timed out' } }
    await using _ = await armFailPoint(store.uri, { commands: ['update'], appName: APP, times: 2, how })
    const command = { update: 'things', updates: [BAD, GOOD] }
    await expect(bulkUpdate(store.db, command)).rejects.toBeInstanceOf(MongoWriteConcernError)
    await expect(sendUpdates(store.db, command)).rejects.toBeInstanceOf(MongoWriteConcernError)
  })
})
