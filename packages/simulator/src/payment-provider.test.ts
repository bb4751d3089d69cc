import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { standardWebhooks } from '@oncehook/webhooks/signing/generic/standard-webhooks'
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
})
