import { findClosedConnections } from '@oncehook/kernel/testing/idle-connections'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { expect, it } from 'vitest'
import { startGateway } from '../testing/start-gateway.ts'

it('MAX_CONNECTIONS: beyond it the connection that has been idle longest is closed', async () => {
  await using database = await testDatabase(process.env)
  await using gateway = await startGateway({ database, settings: { MAX_CONNECTIONS: '2' } })
  expect(await findClosedConnections(gateway.url, 3)).toEqual([0])
})

it('the private listener has 200 connections: whoever fills it holds up no delivery', async () => {
  await using database = await testDatabase(process.env)
  await using gateway = await startGateway({ database })
  expect(await findClosedConnections(gateway.adminUrl, 201)).toEqual([0])
})
