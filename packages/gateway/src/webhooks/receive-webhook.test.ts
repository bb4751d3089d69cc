import { createHmac } from 'node:crypto'
import { makeProvider } from '@oncehook/webhooks/testing/make-provider'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Arrival, Recorded } from '../inbox/inbox.ts'
import { receiveWebhook } from './receive-webhook.ts'

const secret = 'a secret of the shop'
const provider = makeProvider({ settings: { scheme: 'hmac', header: 'x-signature' }, secrets: [{ value: secret }] })
const body = '{"id":"evt_1","type":"payment.succeeded","data":{"object":{"id":"pay_1"}}}'
const NOW = Date.UTC(2026, 10, 30)

afterEach(() => void vi.useRealTimers())

interface Sent {
  readonly text?: string
  readonly signed?: string
  readonly type?: string
}

/** Receives a delivery; `record` replaces the inbox. */
function receive(record: (arrival: Arrival) => Promise<Recorded>, { text = body, signed = text, type }: Sent = {}) {
  const signature = createHmac('sha256', secret).update(signed).digest('hex')
  const types = type === undefined ? [] : ['content-type', type]
  const delivery = { rawBody: Buffer.from(text), rawHeaders: ['x-signature', signature, ...types], query: '' }
  const recordBatch = () => Promise.reject(new Error('There is one event'))
  const none = () => Promise.reject(new Error('This scheme has none'))
  const transmissions = { bind: none, find: none }
  let now = NOW
  const clock = { now: () => now++ }
  const deps = { inbox: { record, recordBatch }, transmissions, clock, fetch: globalThis.fetch }
  return receiveWebhook(deps, {
    provider,
    delivery,
    requestId: 'request-1',
    endsAt: performance.now() + 8_000,
    askFor: (ask) => ask(),
  })
}

describe('receiveWebhook', () => {
  it('passes to the inbox what it needs, and reports the result', async () => {
    const arrivals: Arrival[] = []
    const received = await receive(async (arrival) => {
      arrivals.push(arrival)
      return 'recorded'
    })
    expect(received).toMatchObject({ secretId: 's1', events: [{ outcome: 'recorded', event: { id: 'evt_1' } }] })
    expect(arrivals).toMatchObject([
      { provider: 'acme', rawBody: Buffer.from(body), secretId: 's1', requestId: 'request-1', signsTime: false },
    ])
    expect(arrivals[0]?.receivedAt).toEqual(new Date(NOW))
  })

  it('throws not_stored when the inbox cannot say that it is stored', async () => {
    await expect(receive(async () => 'not_stored')).rejects.toMatchObject({ code: 'not_stored', status: 500 })
  })
})
