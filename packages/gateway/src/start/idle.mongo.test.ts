import { measureCommandRate } from '@oncehook/kernel/testing/profile'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { describe, it } from 'vitest'
import { startGateway } from '../testing/start-gateway.ts'

const SETTLING_MS = 2_000
// Longer than a gateway without tasks counts as busy.
const IDLE_AFTER_MS = 11_000
// As long as a look for due tasks, a poll for pauses and a search for replays take turns.
const WINDOW_MS = 6_000
// A window may begin just before one look and end just after another: then it sees one more of each gateway.
const ONE_MORE_EACH = 2_000 / WINDOW_MS
// Each stores its minute at the end of it, and the first counts and stores what waits.
const END_OF_MINUTE = 4_000 / WINDOW_MS

// They only wait, and each has its own database.
describe.concurrent('two gateways with nothing to do', () => {
  it.for([
    ['ask the database at most once a second each', 0, 1],
    ['ask at most three times in two seconds if they have handlers, however many they are', 16, 1.5],
  ] as const)('%s', async ([, handlers, most], { expect }) => {
    await using database = await testDatabase(process.env)
    await using gateways = new AsyncDisposableStack()
    const handler = { trpc: 'http://127.0.0.1:9/trpc', events: [{ types: ['*'] }] }
    const named = Array.from({ length: handlers }, (_one, at) => [`h${at}`, handler])
    const settings = { HANDLERS: JSON.stringify(Object.fromEntries(named)) }
    let aheadMs = 0
    const monotonicMs = (): number => performance.now() + aheadMs
    for (let started = 0; started < 2; started += 1) {
      gateways.use(await startGateway({ database, settings, monotonicMs }))
    }
    aheadMs = IDLE_AFTER_MS
    // The tasks of the start, such as the creation of indexes, may end late.
    const rate = () => measureCommandRate(database.db, SETTLING_MS)
    await expect.poll(rate).toBeLessThanOrEqual(2 * most)
    expect(await measureCommandRate(database.db, WINDOW_MS)).toBeLessThanOrEqual(
      2 * most + ONE_MORE_EACH + END_OF_MINUTE,
    )
  })
})
