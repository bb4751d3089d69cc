import { once } from 'node:events'
import { createServer } from 'node:http'
import { setImmediate as endOfTurn } from 'node:timers/promises'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { systemClock } from '@oncehook/kernel/time/clock'
import type { Provider } from '@oncehook/webhooks/providers'
import { makeProvider } from '@oncehook/webhooks/testing/make-provider'
import { Registry } from 'prom-client'
import { expect, it, vi } from 'vitest'
import { AddressLimits } from '../http/address-limits.ts'
import { createRateLimit } from '../http/rate-limit.ts'
import { createGatewayMetrics } from '../metrics.ts'
import { BodyBudget } from './body-budget.ts'
import { LastAnswers } from './last-answers.ts'
import { RefusalSummary } from './refuse-delivery.ts'
import { createWebhooks } from './webhooks.ts'

const settings = { scheme: 'hmac', header: 'x-signature' }
const hmac = makeProvider({ settings, secrets: [{ value: 'a secret of the shop' }] })
const { logger } = memoryLogger()
const clock = systemClock
const now = (): number => performance.now()
const none = () => Promise.reject(new Error('Nothing asks for this'))
const WORK_MS = 4

function work(): { refused: 'signature_mismatch' } {
  const startedAt = now()
  while (now() - startedAt < WORK_MS);
  return { refused: 'signature_mismatch' }
}

it('a sender is charged for what a check does after it has waited', async () => {
  const provider: Provider = {
    ...hmac,
    async verify({ timed }) {
      await endOfTurn()
      return timed === undefined ? work() : timed(work)
    },
  }
  const addresses = new AddressLimits({ failures: 100, windowSeconds: 1, clock })
  const charge = vi.spyOn(addresses, 'charge')
  const answerDelivery = createWebhooks({
    inbox: { record: none, recordBatch: none },
    ...{ transmissions: { bind: none, find: none }, clock, fetch: globalThis.fetch },
    ...{ providers: () => new Map([[provider.name, provider]]), logger, addresses },
    budget: new BodyBudget({ capacity: 1_000_000, now }),
    metrics: createGatewayMetrics(new Registry(), () => undefined),
    perProvider: createRateLimit({ name: 'none', limit: 0, windowSeconds: 1, clock }),
    ...{ trustedProxyHops: 0, withinMs: 60_000 },
    ...{ refusals: { note: () => undefined }, summary: new RefusalSummary(logger), lastAnswers: new LastAnswers() },
  })
  const server = createServer(answerDelivery)
  try {
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const address = server.address()
    const port = address === null || typeof address === 'string' ? 0 : address.port
    // A body of this length can need that much time.
    const body = 'x'.repeat(WORK_MS * 4_096)
    const url = `http://127.0.0.1:${port}/api/webhooks/${provider.name}`
    const response = await fetch(url, { method: 'POST', headers: { 'x-signature': 'aa' }, body })
    await response.arrayBuffer()
    expect(response.status).toBe(401)
    expect(charge).toHaveBeenCalledOnce()
    expect(charge.mock.calls[0]?.[1]).toBeGreaterThanOrEqual(WORK_MS)
  } finally {
    server.close()
  }
})
