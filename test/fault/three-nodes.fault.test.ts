import { MongoClient } from 'mongodb'
import { expect, it } from 'vitest'

// The servers that MONGODB_URI names may have any number of nodes.
it.skipIf(process.env.MONGODB_URI)('the fault tests run on a replica set of three nodes', async () => {
  await using client = await new MongoClient(process.env.TEST_MONGODB_URI ?? '').connect()
  const { hosts } = await client.db('admin').command({ hello: 1 })
  expect(hosts).toHaveLength(3)
})
