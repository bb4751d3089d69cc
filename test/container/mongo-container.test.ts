import { MongoClient } from 'mongodb'
import { getContainerRuntimeClient } from 'testcontainers'
import { describe, expect, it, vi } from 'vitest'
import { containerImage } from '../support/containers/container-images.ts'
import { startMongoContainer } from '../support/containers/mongo-container.ts'

async function isPrimary(client: MongoClient): Promise<void> {
  expect(await client.db('admin').command({ hello: 1 })).toMatchObject({ isWritablePrimary: true })
}

describe('MongoDB in a container', () => {
  it('keeps majority-acknowledged writes when it is killed and restarted', async (context) => {
    await using mongo = await startMongoContainer(await containerImage('mongo', context))
    await using client = new MongoClient(mongo.uri, { serverSelectionTimeoutMS: 20_000 })
    const events = client.db('test').collection<{ _id: number }>('events')
    const majority = { writeConcern: { w: 'majority', journal: true } } as const
    await events.insertOne({ _id: 1 }, majority)

    const handle = (await getContainerRuntimeClient()).container.getById(mongo.container.getId())
    await handle.kill()
    await handle.start()
    // The engine accepts connections to the port before the server does, and closes them.
    await vi.waitFor(() => isPrimary(client), { timeout: 120_000, interval: 100 })
    await events.insertOne({ _id: 2 }, majority)

    expect((await events.find().toArray()).map(({ _id }) => _id)).toEqual([1, 2])
  })
})
