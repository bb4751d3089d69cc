import { armFailPoint } from '@oncehook/kernel/testing/fail-point'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { MongoClient, ObjectId } from 'mongodb'
import { afterAll, describe, expect, it } from 'vitest'
import { messagesOf } from './mongo-documents.ts'
import { createMongoOutbox } from './mongo-outbox.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const appName = 'claiming-messages'
const client = stack.use(await new MongoClient(database.uri.reveal(), { appName }).connect())
const outbox = createMongoOutbox(client.db(database.name), Date.now)
const claim = { names: ['mail'], most: 5, leaseMs: 60_000 }

/** Stores messages that are due, each a second after the one before. */
async function store(handler: string, payloads: readonly string[]): Promise<void> {
  const messages = payloads.map((payload, index) => ({
    ...{ _id: new ObjectId(), handler, name: 'mail', key: `${handler}:${index}`, payload, attempt: 0, dead: false },
    ...{ createdAt: new Date(), dueAt: new Date(Date.now() - 60_000 + index * 1_000) },
  }))
  await messagesOf(database.db).insertMany(messages)
}

const attemptsOf = async (handler: string): Promise<number[]> =>
  (await messagesOf(database.db).find({ handler }).sort({ key: 1 }).toArray()).map(({ attempt }) => attempt)

describe('a claim of several messages on MongoDB', () => {
  it('returns those that it has claimed if it cannot claim the next one', async () => {
    await store('late', ['0', '1', '2', '3', '4'])
    {
      const how = { errorCode: 2 }
      await using _ = await armFailPoint(database.uri, { commands: ['findAndModify'], appName, after: 3, how })
      const claimed = await outbox.claim({ ...claim, handler: 'late' })
      expect(claimed.map(({ payload, attempt }) => [payload, attempt])).toEqual([0, 1, 2].map((one) => [one, 1]))
      await expect(outbox.claim({ ...claim, handler: 'late' })).rejects.toThrow()
    }
    expect(await attemptsOf('late')).toEqual([1, 1, 1, 0, 0])
    expect((await outbox.claim({ ...claim, handler: 'late' })).map(({ attempt }) => attempt)).toEqual([1, 1])
  })

  it('releases them and reports it if it took so long that a part of their leases has passed', async () => {
    await store('slow', ['0', '1'])
    {
      const how = { blockConnection: true, blockTimeMS: 4_100 }
      await using _ = await armFailPoint(database.uri, { commands: ['findAndModify'], appName, how })
      await expect(outbox.claim({ ...claim, handler: 'slow' })).rejects.toThrow('The claim took too long')
    }
    expect(await attemptsOf('slow')).toEqual([0, 0])
    expect((await outbox.claim({ ...claim, handler: 'slow' })).map(({ payload }) => payload)).toHaveLength(2)
  })

  it('returns those that it has claimed if the next one was changed by hand and is no JSON', async () => {
    await store('edited', ['0', '{', '2'])
    expect((await outbox.claim({ ...claim, handler: 'edited' })).map(({ payload }) => payload)).toEqual([0])
    expect((await outbox.claim({ ...claim, handler: 'edited' })).map(({ payload }) => payload)).toEqual([2])
  })
})
