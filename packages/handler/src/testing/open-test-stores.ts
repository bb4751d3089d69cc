import type pg from 'pg'
import { afterAll, type TestContext } from 'vitest'
import { missingTool } from '../../../../scripts/tools/find-tool.ts'
import type { MongoTransaction } from '../mongo/mongo.ts'
import type { PostgresTransaction } from '../postgres/postgres.ts'
import { openMongo, openPostgres, type StoreUnderTest } from './test-stores.ts'

/** The stores of a test file. Without PostgreSQL on this machine, a test that asks for it is skipped. */
interface TestStores {
  readonly onPostgres: (context: TestContext) => StoreUnderTest<PostgresTransaction<pg.PoolClient>>
  readonly onMongo: StoreUnderTest<MongoTransaction>
  /** For `describe.each`: the name of each store, and the function that gives it to a test. */
  readonly each: readonly (readonly [name: string, under: (context: TestContext) => StoreUnderTest])[]
}

/** Opens both stores on new databases, and closes them after the last test of the file. */
export async function openTestStores(env: NodeJS.ProcessEnv): Promise<TestStores> {
  const stack = new AsyncDisposableStack()
  afterAll(() => stack.disposeAsync())
  const postgres = stack.use(await openPostgres())
  const onMongo = stack.use(await openMongo(env))
  const onPostgres: TestStores['onPostgres'] = ({ skip }) => postgres ?? skip(missingTool('postgresql'))
  return {
    onPostgres,
    onMongo,
    each: [
      ['PostgreSQL', onPostgres as TestStores['each'][number][1]],
      ['MongoDB', () => onMongo as StoreUnderTest],
    ],
  }
}
