import { MongoClient } from 'mongodb'

/** The port of loopback where the primary of the run's replica set listens: for a proxy, which leads to one node. */
export async function portOfPrimary(): Promise<number> {
  const uri = process.env.TEST_MONGODB_URI
  if (uri === undefined) throw new Error('TEST_MONGODB_URI is not set: run the tests by npm test')
  await using client = await new MongoClient(uri).connect()
  const { primary } = await client.db('admin').command({ hello: 1 })
  return Number(new URL(`mongodb://${primary}`).port)
}
