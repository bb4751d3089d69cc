import { measureCommandRate } from '@oncehook/kernel/testing/profile'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { expect, it } from 'vitest'
import { startFulfilment } from './testing/start-fulfilment.ts'

it('asks the database at most once a second while it has nothing to do', async () => {
  await using database = await testDatabase(process.env)
  await using _ = await startFulfilment({ uri: database.uri, database: database.name })
  const perSecond = (): Promise<number> => measureCommandRate(database.db, 4_000)
  // The tasks of the start, such as the creation of indexes, may end late.
  await expect.poll(perSecond).toBeLessThanOrEqual(1)
})
