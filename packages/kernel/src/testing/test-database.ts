import { randomBytes } from 'node:crypto'
import { type Db, MongoClient } from 'mongodb'
import { Secret } from '../secrets/secret.ts'

/** A separate database on the mongod of this test run, dropped at the end of the scope. */
export interface TestDatabase extends AsyncDisposable {
  readonly uri: Secret
  readonly name: string
  /** All databases of a process have the same. */
  readonly client: MongoClient
  readonly db: Db
}

/** Opens a new database on the mongod of the test run (`TEST_MONGODB_URI`). */
export async function testDatabase(env: NodeJS.ProcessEnv): Promise<TestDatabase> {
  const uri = env.TEST_MONGODB_URI
  if (uri === undefined) throw new Error('TEST_MONGODB_URI is not set: run the tests by npm test')
  const name = `test_${randomBytes(6).toString('hex')}`
  const client = await clientFor(uri)
  const db = client.db(name)
  return {
    uri: new Secret(uri),
    name,
    client,
    db,
    async [Symbol.asyncDispose]() {
      await db.dropDatabase()
    },
  }
}

// To connect takes longer than all that most tests do. It ends with the process of the tests.
const clients = new Map<string, Promise<MongoClient>>()

function clientFor(uri: string): Promise<MongoClient> {
  const client = clients.get(uri) ?? new MongoClient(uri).connect()
  clients.set(uri, client)
  return client
}
