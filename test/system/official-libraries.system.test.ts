import { randomUUID } from 'node:crypto'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import Stripe from 'stripe'
import { Webhook as SvixWebhook } from 'svix'
import { afterAll, describe, expect, it } from 'vitest'
import { BODY_CANARY } from '../support/stack/canaries.ts'
import type { ApiOrder } from '../support/stack/records.ts'
import { startStack } from '../support/stack/stack.ts'
import type { ProviderName } from '../support/stack/stack-provider.ts'

const resources = new AsyncDisposableStack()
afterAll(() => resources.disposeAsync())
const stack = resources.use(await startStack())
const { secrets } = stack

type Headers = Readonly<Record<string, string>>

/** A provider's library, used as its users do. It signs a text, and the test sends both. */
interface Library {
  readonly name: string
  readonly provider: ProviderName
  readonly write: (order: ApiOrder, id: string) => object
  readonly sign: (body: string, id: string) => Headers
}

const standard = new StandardWebhook(secrets.acme.current)
const svix = new SvixWebhook(secrets.acme.current)
const stripe = new Stripe('sk_test_unused')

const LIBRARIES: readonly Library[] = [
  {
    name: 'stripe',
    provider: 'stripe',
    write: writeStripeEvent,
    sign: (payload) => ({
      'stripe-signature': stripe.webhooks.generateTestHeaderString({ payload, secret: secrets.stripe }),
    }),
  },
  {
    name: 'standardwebhooks',
    provider: 'acme',
    write: writeEvent,
    sign: (body, id) => signedHeaders('webhook', { id, sign: (at) => standard.sign(id, at, body) }),
  },
  {
    name: 'svix',
    provider: 'acme',
    write: writeEvent,
    sign: (body, id) => signedHeaders('svix', { id, sign: (at) => svix.sign(id, at, body) }),
  },
]

function signedHeaders(family: string, { id, sign }: { id: string; sign: (at: Date) => string }): Headers {
  const at = new Date()
  return {
    [`${family}-id`]: id,
    [`${family}-timestamp`]: String(Math.floor(at.getTime() / 1_000)),
    [`${family}-signature`]: sign(at),
  }
}

function writeEvent({ id: orderId, amountDue: amount, currency }: ApiOrder, id: string): object {
  const object = { id: `pay_${orderId}`, orderId, amount, currency }
  return { id, type: 'payment.succeeded', data: { object }, memo: BODY_CANARY }
}

function writeStripeEvent({ id: orderId, amountDue: amount, currency }: ApiOrder, id: string): object {
  const metadata = { order_id: orderId }
  const object = { id: `pi_${orderId}`, object: 'payment_intent', amount, amount_received: amount, currency, metadata }
  return { id, object: 'event', livemode: false, type: 'payment_intent.succeeded', data: { object }, memo: BODY_CANARY }
}

async function post(provider: ProviderName, body: Uint8Array, headers: Headers): Promise<number> {
  const response = await fetch(`${stack.url}/api/webhooks/${provider}`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', ...headers },
  })
  await response.text()
  return response.status
}

describe.each(LIBRARIES)('a delivery that the library $name has signed', ({ provider, write, sign }) => {
  async function prepare() {
    const order = await stack.orders.create()
    const id = `evt_${randomUUID()}`
    const text = JSON.stringify(write(order, id))
    return { order, id, body: Buffer.from(text), headers: sign(text, id) }
  }

  it('is accepted and pays the order', async () => {
    const { order, body, headers } = await prepare()
    expect(await post(provider, body, headers)).toBe(200)
    expect(await stack.orders.untilStatus(order.id, 'paid')).toMatchObject({
      access: 'unlocked',
      payment: { provider },
    })
  })

  it.each([0, 0.5, 1])('is 401 with one byte changed, at %f of the body', async (share) => {
    const { order, id, body, headers } = await prepare()
    const at = Math.floor(share * (body.length - 1))
    const changed = body.map((byte, index) => (index === at ? byte ^ 1 : byte))
    expect(await post(provider, changed, headers)).toBe(401)
    expect(await stack.events.countDocuments({ eventId: id })).toBe(0)
    expect(await stack.orders.read(order.id)).toEqual(order)
  })
})
