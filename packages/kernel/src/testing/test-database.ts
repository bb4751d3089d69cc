import { randomBytes } from 'node:crypto'
import { type Db, MongoClient } from 'mongodb'
import { Secret } from '../secret.ts'

/** A separate database on the mongod of this test run, dropped at the end of the scope. */
export interface TestDatabase extends AsyncDisposable {
  readonly uri: Secret
  readonly name: string
  readonly client: MongoClient
  readonly db: Db
}

/** Opens a new database on the mongod of the test run (`TEST_MONGODB_URI`). */
export async function testDatabase(env: NodeJS.ProcessEnv): Promise<TestDatabase> {
  const uri = env.TEST_MONGODB_URI
  if (uri === undefined) throw new Error('TEST_MONGODB_URI is not set: run the tests by npm test')
  const name = `test_${randomBytes(6).toString('hex')}`
  const client = await new MongoClient(uri).connect()
  const db = client.db(name)
  return {
    uri: new Secret(uri),
    name,
    client,
    db,
    async [Symbol.asyncDispose]() {
      await db.dropDatabase()
      await client.close()
    },
  }
}
