import { findClosedConnections } from '@oncehook/kernel/testing/idle-connections'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { expect, it } from 'vitest'
import { startFulfilment } from './testing/start-fulfilment.ts'

it('MAX_CONNECTIONS: beyond it the connection that has been idle longest is closed', async () => {
  await using database = await testDatabase(process.env)
  await using fulfilment = await startFulfilment({
    uri: database.uri,
    database: database.name,
    settings: { MAX_CONNECTIONS: '2' },
  })
  expect(await findClosedConnections(fulfilment.url, 3)).toEqual([0])
})
