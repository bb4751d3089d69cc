import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { standardWebhooks } from '@oncehook/webhooks/signing/generic/standard-webhooks'
import { gocardless } from '@oncehook/webhooks/signing/payments/gocardless'
import { stripe } from '@oncehook/webhooks/signing/payments/stripe'
import { SigningError } from '@oncehook/webhooks/signing/signer'
import { SAMPLE_PAYMENT } from '@oncehook/webhooks/testing/sample-payment'
import Stripe from 'stripe'
import { describe, expect, it } from 'vitest'
import { createPaymentProvider, type WebhookEndpoint } from './payment-provider.ts'

const secret = 'whsec_test_secret'

interface Received {
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

async function startReceiver(answer: (response: ServerResponse, received: Received) => void) {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    const delivery = { headers: request.headers, body: await buffer(request) }
    received.push(delivery)
    answer(response, delivery)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/api/webhooks/stripe`,
    received,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function createProvider(endpoint: Partial<WebhookEndpoint> & { url: string }) {
  const deps = { fetch, now: Date.now, sleep: async (ms: number) => sleep(ms) }
  return createPaymentProvider(deps, { signer: stripe, secret, ...endpoint })
}

/** A message without an event in it: the receivers here do not look. */
function message(eventId: string) {
  return { eventId, body: Buffer.from(eventId) }
}

describe('createPaymentProvider', () => {
  it('delivers a signed event and reports what came back', async () => {
    await using receiver = await startReceiver((response) => response.end('{"received":true}'))
    const provider = createProvider(receiver)
    const report = await provider.deliver(provider.write(SAMPLE_PAYMENT))
    expect(report).toMatchObject({ eventId: 'evt_1', status: 200, body: '{"received":true}', failure: null })
    const [delivery] = receiver.received
    expect(delivery?.headers['content-type']).toBe('application/json')
    const signature = String(delivery?.headers['stripe-signature'])
    expect(new Stripe('sk_test_unused').webhooks.constructEvent(delivery!.body, signature, secret).id).toBe('evt_1')
  })

  it('measures the answer by the given clock', async () => {
    await using receiver = await startReceiver((response) => response.end())
    const times = [1_000, 1_000, 1_042]
    const now = () => times.shift() ?? 0
    const provider = createPaymentProvider({ fetch, now, sleep }, { url: receiver.url, signer: stripe, secret })
    expect((await provider.deliver(message('evt_1'))).ms).toBe(42)
  })

  it('signs by a wrong clock on request', async () => {
    await using receiver = await startReceiver((response) => response.end())
    const deps = { fetch, now: () => 1_760_000_000_000, sleep }
    const provider = createPaymentProvider(deps, { url: receiver.url, signer: stripe, secret, skewMs: -301_000 })
    await provider.deliver(message('evt_1'))
    expect(receiver.received[0]?.headers['stripe-signature']).toContain('t=1759999699,')
  })

  it('tampers with the requested part', async () => {
    await using receiver = await startReceiver((response) => response.end())
    const provider = createProvider(receiver)
    await provider.deliver(provider.write(SAMPLE_PAYMENT), 'body')
    expect(receiver.received[0]?.body).not.toEqual(Buffer.from(provider.write(SAMPLE_PAYMENT).body))
  })

  it('reports a refusal as the answer it is', async () => {
    await using receiver = await startReceiver((response) =>
      response.writeHead(401).end('{"code":"signature_invalid"}'),
    )
    const report = await createProvider(receiver).deliver(message('evt_1'))
    expect(report).toMatchObject({ status: 401, body: '{"code":"signature_invalid"}', failure: null })
  })

  it('does not follow a redirect', async () => {
    await using receiver = await startReceiver((response) => response.writeHead(307, { location: '/elsewhere' }).end())
    expect(await createProvider(receiver).deliver(message('evt_1'))).toMatchObject({ status: 307 })
    expect(receiver.received).toHaveLength(1)
  })

  it('reports that nothing listens', async () => {
    const receiver = await startReceiver((response) => response.end())
    await receiver[Symbol.asyncDispose]()
    expect(await createProvider(receiver).deliver(message('evt_1'))).toMatchObject({
      status: null,
      body: '',
      failure: 'ECONNREFUSED',
    })
  })

  it('gives up if no answer arrives', async () => {
    await using receiver = await startReceiver(() => undefined)
    const provider = createProvider({ ...receiver, timeoutMs: 50 })
    expect(await provider.deliver(message('evt_1'))).toMatchObject({ status: null, failure: 'timeout' })
  })

  it('rejects a delivery that cannot be signed, and sends nothing', async () => {
    await using receiver = await startReceiver((response) => response.end())
    const provider = createProvider({ ...receiver, signer: standardWebhooks, secret: 'not base64' })
    await expect(provider.deliver(message('evt_1'))).rejects.toThrow(SigningError)
    expect(receiver.received).toHaveLength(0)
  })

  it('delivers several events at once where the scheme has that', async () => {
    await using receiver = await startReceiver((response) => response.end())
    const provider = createProvider({ ...receiver, signer: gocardless })
    const report = await provider.deliver(provider.writeBatch([SAMPLE_PAYMENT, { ...SAMPLE_PAYMENT, id: 'evt_2' }]))
    expect(report).toMatchObject({ eventId: 'evt_1', status: 200 })
    const { events } = JSON.parse(String(receiver.received[0]?.body))
    expect(events).toMatchObject([{ id: 'evt_1' }, { id: 'evt_2' }])
  })

  it.each([
    ['at least one event', gocardless, 0],
    ['at most 1000 events', gocardless, 1_001],
    ['one event', stripe, 2],
  ])('writes nothing where a delivery has %s and is to have another number', (message, signer, count) => {
    const provider = createProvider({ url: 'http://127.0.0.1:9', signer })
    expect(() => provider.writeBatch(Array(count).fill(SAMPLE_PAYMENT))).toThrow(message)
  })

  it('delivers a list in its order, one at a time', async () => {
    await using receiver = await startReceiver((response) => response.end())
    const provider = createProvider(receiver)
    const reports = await provider.deliverAll(['a', 'b', 'c'].map(message), { parallel: 1 })
    expect(receiver.received.map(({ body }) => body.toString())).toEqual(['a', 'b', 'c'])
    expect(reports.map(({ eventId }) => eventId)).toEqual(['a', 'b', 'c'])
  })

  it('has at most the allowed number in flight', async () => {
    const waiting: ServerResponse[] = []
    let most = 0
    await using receiver = await startReceiver((response) => {
      most = Math.max(most, waiting.push(response))
      // All waiting requests are answered once the third is there: with fewer at once, none would ever be.
      if (waiting.length === 3) for (const each of waiting.splice(0)) each.end()
    })
    const reports = await createProvider(receiver).deliverAll('abcdef'.split('').map(message), { parallel: 3 })
    expect(reports.every(({ status }) => status === 200)).toBe(true)
    expect(most).toBe(3)
  })

  it('starts this number of deliveries per second, however long the answers take', async () => {
    await using receiver = await startReceiver((response) => response.end())
    let time = 0
    const begun: number[] = []
    const deps = {
      now: () => time,
      sleep: async (ms: number) => {
        time += ms
      },
      fetch: async (...args: Parameters<typeof fetch>) => {
        begun.push(time)
        return fetch(...args)
      },
    }
    const provider = createPaymentProvider(deps, { url: receiver.url, signer: stripe, secret })
    await provider.deliverAll(['a', 'b', 'c'].map(message), { parallel: 1, perSecond: 10 })
    expect(begun).toEqual([0, 100, 200])
  })

  it('has nothing to report when there is nothing to deliver', async () => {
    expect(await createProvider({ url: 'http://127.0.0.1:9' }).deliverAll([], { parallel: 4 })).toEqual([])
  })
})
