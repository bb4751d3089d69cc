import { measureCommandRate } from '@oncehook/kernel/testing/profile'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { expect, it } from 'vitest'
import { startGateway } from './testing/start-gateway.ts'

it('asks the database at most once a second while it has nothing to do', async () => {
  await using database = await testDatabase(process.env)
  await using _ = await startGateway({ database })
  // The tasks of the start, such as the creation of indexes, may end late.
  await expect.poll(() => measureCommandRate(database.db, 8_000), { timeout: 120_000 }).toBeLessThan(2)
}, 180_000)
