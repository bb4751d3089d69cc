import { createMongoConnection } from '@oncehook/kernel/mongo/mongo-connection'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { EVENTS } from '@oncehook/queue/task'
import { expect, it } from 'vitest'
import { sampleRecord } from '../../testing/sample-record.ts'
import { createReplays } from './replays.ts'

it('gives up a count in time, so that the answer says that the search is too wide', async () => {
  await using database = await testDatabase(process.env)
  const connection = createMongoConnection({
    ...{ uri: database.uri, database: database.name, appName: 'replays-test', maxPoolSize: 2 },
    logger: memoryLogger().logger,
  })
  await connection.open()
  await database.db.collection(EVENTS).insertMany(Array.from({ length: 200 }, () => sampleRecord()))
  // This takes 20 seconds for all of them.
  const slow = { $function: { body: 'function () { sleep(100); return true }', args: [], lang: 'js' } }
  const target = { filter: { $expr: slow } }
  const counted = createReplays(connection.db).match({
    ...{ by: 'alice', reason: 'a test', target, ratePerSecond: null, includeDone: true },
  })
  // The code of an expired time limit. A network error would be retried, and end after 11 s as `unavailable`.
  await expect(counted).rejects.toMatchObject({ code: 50 })
  await connection.close()
})
