import { measureCommandRate } from '@oncehook/kernel/testing/profile'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { expect, it } from 'vitest'
import { startGateway } from './testing/start-gateway.ts'

const GATEWAYS = 8
const WINDOW_MS = 8_000
const LONG_MS = 30_000

it('asks the database at most once a second while it has nothing to do, also as one of eight', async () => {
  await using database = await testDatabase(process.env)
  await using gateways = new AsyncDisposableStack()
  for (let started = 0; started < GATEWAYS; started += 1) gateways.use(await startGateway({ database }))
  // The tasks of the start, such as the creation of indexes, may end late.
  const rate = () => measureCommandRate(database.db, WINDOW_MS)
  await expect.poll(rate).toBeLessThanOrEqual(GATEWAYS)
  // Then not in a lucky moment, but for as long as a heartbeat, a poll for pauses and a search for replays take turns.
  expect(await measureCommandRate(database.db, LONG_MS)).toBeLessThanOrEqual(GATEWAYS)
})

it('asks at most three times in two seconds if it has handlers, however many they are', async () => {
  await using database = await testDatabase(process.env)
  await using gateways = new AsyncDisposableStack()
  const handler = { trpc: 'http://127.0.0.1:9/trpc', events: [{ types: ['*'] }] }
  const HANDLERS = JSON.stringify(Object.fromEntries(Array.from({ length: 16 }, (_, at) => [`h${at}`, handler])))
  const settings = { HANDLERS }
  for (let started = 0; started < 4; started += 1) gateways.use(await startGateway({ database, settings }))
  const rate = () => measureCommandRate(database.db, WINDOW_MS)
  await expect.poll(rate).toBeLessThanOrEqual(4 * 1.5)
  expect(await measureCommandRate(database.db, LONG_MS)).toBeLessThanOrEqual(4 * 1.5)
})
