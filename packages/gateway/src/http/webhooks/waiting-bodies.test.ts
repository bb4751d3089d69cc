import { createHmac, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { systemClock } from '@oncehook/kernel/clock'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { makeProvider } from '@oncehook/webhooks/testing/make-provider'
import { Registry } from 'prom-client'
import { afterAll, expect, it } from 'vitest'
import { createGatewayMetrics } from '../../metrics.ts'
import { createRateLimit } from '../rate-limit.ts'
import { BodyBudget } from './body-budget.ts'
import { CheckBudget } from './check-budget.ts'
import { LastAnswers } from './last-answers.ts'
import { RefusalSummary } from './refusal-summary.ts'
import { Strangers } from './strangers.ts'
import { createWebhookHandler, type WebhookDeps } from './webhook-handler.ts'

const secret = 'a secret of the shop'
const KNOWN = '198.51.100.1'
const CAPACITY = 400_000
const provider = makeProvider({ settings: { scheme: 'hmac', header: 'x-signature' }, secrets: [{ value: secret }] })
const { logger } = memoryLogger()
const clock = systemClock
const none = () => Promise.reject(new Error('Nothing asks for this'))
const now = (): number => performance.now()
// All other addresses stay strangers, whatever they deliver.
const known = { has: (address: string) => address === KNOWN, add: () => undefined }
const noLimit = createRateLimit({ name: 'none', limit: 0, windowSeconds: 1, clock })

// Like a flood: strangers wait until the test releases them.
const held: { readonly go: () => void }[] = []
let onHeld: () => void = () => undefined
const turns: WebhookDeps['turns'] = {
  ...{ rest: () => undefined, enter: () => undefined, leave: () => undefined },
  next({ isKnown, signal }) {
    if (isKnown) return Promise.resolve()
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
      held.push({ go: resolve })
      onHeld()
    })
  },
}

const budget = new BodyBudget({ capacity: CAPACITY, now, isKnown: known.has })
const server = createServer(
  createWebhookHandler(
    {
      inbox: { record: async () => 'recorded', recordBatch: none },
      ...{ transmissions: { bind: none, find: none }, clock, isHandled: () => true, fetch: globalThis.fetch },
      ...{ providers: () => new Map([[provider.name, provider]]), logger, known, budget },
      metrics: createGatewayMetrics(new Registry(), () => undefined),
      limits: { failed: noLimit, searched: noLimit, provider: noLimit },
      ...{ trustedProxyHops: 1, withinMs: 60_000, turns },
      checks: new CheckBudget({ clock, known, isLimited: false }),
      strangers: new Strangers({ limit: noLimit, windowSeconds: 1, atOnce: 0, clock, known }),
      ...{ refusals: { note: () => undefined }, summary: new RefusalSummary(logger), lastAnswers: new LastAnswers() },
    },
    (_, response) => response.writeHead(404).end(),
  ),
)
await once(server.listen(0, '127.0.0.1'), 'listening')
afterAll(() => server.close())

async function deliver(address: string, bytes: number): Promise<number> {
  const listening = server.address()
  const port = listening === null || typeof listening === 'string' ? 0 : listening.port
  const event = { id: randomUUID(), type: 'payment.succeeded', data: { object: { id: randomUUID() } } }
  const body = JSON.stringify(event) + ' '.repeat(bytes)
  const signature = createHmac('sha256', secret).update(body).digest('hex')
  const response = await fetch(`http://127.0.0.1:${port}/api/webhooks/${provider.name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': address, 'x-signature': signature },
    body,
  })
  await response.arrayBuffer()
  return response.status
}

const FILLING = 10

/** Fills the memory with bodies of one stranger. They wait for their checks. */
async function fill(): Promise<Promise<number>[]> {
  const { promise: areHeld, resolve } = Promise.withResolvers<void>()
  held.length = 0
  onHeld = () => {
    if (held.length === FILLING) resolve()
  }
  const answers = Array.from({ length: FILLING }, () => deliver('203.0.113.9', 35_500))
  await areHeld
  onHeld = () => undefined
  return answers
}

it.each([
  ['a small one of a known address', KNOWN, 15_000],
  ['a large one of a known address', KNOWN, 100_000],
  ['a small one of another stranger', '203.0.113.10', 15_000],
])('waiting bodies of a stranger are dropped in favour of %s', async (_, address, bytes) => {
  const answers = await fill()
  expect(await deliver(address, bytes)).toBe(200)
  for (const { go } of held) go()
  const statuses = await Promise.all(answers)
  expect(statuses).toContain(429)
  expect(new Set(statuses)).toEqual(new Set([200, 429]))
})
