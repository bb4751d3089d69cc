import { randomUUID } from 'node:crypto'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, describe, expect, it } from 'vitest'
import { PROVIDER_STATS, type ProviderCounter } from '../../inbox/statistics/provider-stats.ts'
import { PROVIDERS, paymentEvent, startOperatedSystem } from '../../testing/start-operated-system.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const system = stack.use(await startOperatedSystem(database))
const { providers } = system.operator()
const stats = database.db.collection<ProviderCounter>(PROVIDER_STATS)

const DAY_MS = 86_400_000
const inDays = (days: number): string => new Date(Date.now() + days * DAY_MS).toISOString()

async function healthOf(name: string) {
  const health = await providers.health.query()
  return { ...health.providers.find((provider) => provider.name === name), countedFrom: health.countedFrom }
}

describe('providers.health', () => {
  it('shows what a provider has sent, and why it was refused', async () => {
    const eventId = randomUUID()
    expect(await system.deliver(paymentEvent(eventId, { orderId: await system.order() }))).toBe(200)
    expect(await system.deliver(paymentEvent(randomUUID()), { secret: 'another secret' })).toBe(401)
    await system.until(eventId, ({ state }) => state === 'done')
    // The statistics are written every second.
    await expect
      .poll(() => healthOf('acme'))
      .toMatchObject({
        ...{ lastDeliveryAt: expect.any(String), silentSince: null, usualGapSeconds: null, lastHour: 1 },
        refused: [{ reason: 'signature_invalid', count: 1, lastAt: expect.any(String) }],
        ...{ oldestUnsettledSeconds: 0, secretsEnding: [], countedFrom: expect.any(String) },
      })
    expect(await healthOf('shop')).toMatchObject({ lastDeliveryAt: null, lastHour: 0, lastMinute: 0, refused: [] })
  })

  it('names a provider that is silent for longer than usual', async () => {
    await system.writeProviders({ ...PROVIDERS, quiet: PROVIDERS.shop })
    const lastAt = new Date(Date.now() - 3 * 3_600_000)
    const _id = { provider: 'quiet', kind: 'delivery', name: 'recorded' } as const
    const gaps = { longestGapMs: 3_600_000, gapsSince: new Date(Date.now() - 8 * DAY_MS) }
    await stats.insertOne({ _id, count: 9, lastAt, ...gaps })
    const silence = { lastDeliveryAt: lastAt.toISOString(), silentSince: lastAt.toISOString(), usualGapSeconds: 3_600 }
    await expect.poll(() => healthOf('quiet')).toMatchObject(silence)
  })

  it('names the secrets that end within 14 days', async () => {
    const [newer, older] = PROVIDERS.acme.secrets
    const ending = inDays(13)
    const secrets = [
      { ...newer, notAfter: inDays(15) },
      { ...older, notAfter: ending },
    ]
    await system.writeProviders({ ...PROVIDERS, ending: { ...PROVIDERS.acme, secrets } })
    await expect
      .poll(async () => (await healthOf('ending')).secretsEnding)
      .toEqual([{ id: 'older', notAfter: ending, lastMatchedAt: null }])
  })
})
