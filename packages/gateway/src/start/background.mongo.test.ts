import { testDatabase } from '@oncehook/kernel/testing/test-database'
import type { Provider } from '@oncehook/webhooks/providers'
import { makeProvider } from '@oncehook/webhooks/testing/make-provider'
import { afterAll, beforeEach, expect, it } from 'vitest'
import { PROVIDER_STATS, type ProviderCounter } from '../inbox/statistics/provider-stats.ts'
import { findExpiringSecrets } from './background.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const { db } = stack.use(await testDatabase(process.env))
const stats = db.collection<ProviderCounter>(PROVIDER_STATS)

const NOW = Date.parse('2026-06-15T12:00:00Z')
const DAY_MS = 86_400_000
const at = (days: number): string => new Date(NOW + days * DAY_MS).toISOString()

beforeEach(async () => {
  await stats.deleteMany()
})

/** A provider whose secret s1 expires after this number of days, or never. */
function provider(days: number | null): ReadonlyMap<string, Provider> {
  const value = 'a secret that is long enough'
  const secret = days === null ? { value } : { value, notAfter: at(days) }
  return new Map([['acme', makeProvider({ settings: { scheme: 'stripe' }, secrets: [secret] })]])
}

async function matched(days: number, name = 's1'): Promise<void> {
  const lastAt = new Date(NOW + days * DAY_MS)
  await stats.insertOne({
    _id: { provider: 'acme', kind: 'secret', name },
    count: 1,
    lastAt,
    longestGapMs: 0,
    gapsSince: lastAt,
  })
}

it('names a secret that ends within seven days and still matches', async () => {
  await matched(-0.5)
  expect(await findExpiringSecrets(db, provider(6), NOW)).toEqual([
    { provider: 'acme', secretId: 's1', notAfter: at(6), lastMatchedAt: at(-0.5) },
  ])
})

it.each([
  ['ends later', 8, -0.5],
  ['has ended', -1, -0.5],
  ['has not matched for more than a day', 6, -1.5],
  ['never ends', null, -0.5],
])('names none that %s', async (_, ends, last) => {
  await matched(last)
  expect(await findExpiringSecrets(db, provider(ends), NOW)).toEqual([])
})

it('names none that has never matched, whatever the others did', async () => {
  await matched(-0.5, 's2')
  expect(await findExpiringSecrets(db, provider(6), NOW)).toEqual([])
})
