import { PROVIDER_SOURCES } from '@oncehook/gateway/testing/provider-sources'
import { readProviders } from '@oncehook/gateway/webhooks/providers/providers'
import { makeAsymmetricStandardSecret } from '@oncehook/simulator/development-secret'
import { startObjectApi } from '@oncehook/simulator/object-api'
import { signTampered, tamperedParts } from '@oncehook/simulator/tampering'
import {
  type Delivery,
  PAYMENT_EVENT_TYPES,
  type Provider,
  SCHEMES,
  type WebhookEvent,
} from '@oncehook/webhooks/providers'
import type { PaymentEvent } from '@oncehook/webhooks/signing/payment-event'
import { type SignedDelivery, signDelivery } from '@oncehook/webhooks/signing/signer'
import { signers } from '@oncehook/webhooks/signing/signers'
import { SAMPLE_PAYMENT } from '@oncehook/webhooks/testing/sample-payment'
import { describe, expect, it } from 'vitest'
import { simulateProvider } from './support/providers/simulated-provider.ts'

const NOW = 1_760_000_000_000
const API_TOKEN = 'a-token-of-the-simulated-api'
const place = { publicUrl: 'https://pay.example.com/api/webhooks/p', apiToken: API_TOKEN, now: NOW }

const paid: PaymentEvent = { ...SAMPLE_PAYMENT, paymentId: 'pay_1', occurredAt: NOW - 5_000 }
const failed: PaymentEvent = { ...paid, id: 'evt_2', type: 'payment.failed', paymentId: 'pay_2', orderId: 'ord_2' }

/** Their payment events have no amount, or none that the gateway reads. */
const WITHOUT_AMOUNT =
  'app-store authorizenet calendly clerk discord docusign fusionauth github gitlab gocardless hubspot meta plaid resend revolut sendgrid slack twilio wise workos x zoom'.split(
    ' ',
  )
/** Their events have an id in the signed bytes. */
const WITH_OWN_ID =
  'checkout clerk creem dodo gitlab gocardless hmac mollie paddle paypal polar resend sendgrid slack standard-webhooks stripe workos'.split(
    ' ',
  )

function readProvider(settings: object): Provider {
  const provider = readProviders(JSON.stringify({ p: settings }), PROVIDER_SOURCES).get('p')
  if (provider === undefined) throw new Error('The provider was not read')
  return provider
}

function toDelivery({ headers, body, query }: SignedDelivery): Delivery {
  return { rawBody: Buffer.from(body), rawHeaders: headers.flat(), query }
}

async function receiveAll(provider: Provider, delivery: Delivery): Promise<readonly WebhookEvent[]> {
  const verdict = await provider.verify(delivery, NOW, fetch)
  if ('refused' in verdict) throw new Error(verdict.refused)
  return provider.readEvents(verdict)
}

async function receive(provider: Provider, delivery: Delivery): Promise<WebhookEvent> {
  const [event, ...more] = await receiveAll(provider, delivery)
  expect(more).toEqual([])
  if (event === undefined) throw new Error('The delivery tells of nothing')
  const confirmed = await provider.confirm?.(event, fetch)
  if (confirmed === undefined) return event
  if ('refused' in confirmed) throw new Error(confirmed.refused)
  return confirmed.event
}

describe('the simulator', () => {
  it('signs every scheme that the gateway verifies, and no other', () => {
    expect([...signers.keys()].toSorted()).toEqual([...SCHEMES.keys()].toSorted())
  })
})

const variants: readonly (readonly [name: string, scheme: string, settings: Readonly<Record<string, unknown>>])[] = [
  ...[...SCHEMES.keys()].map((scheme) => [scheme, scheme, {}] as const),
  ['hook0, v0', 'hook0', { version: 'v0' }] as const,
]

describe.each(variants)('a simulated delivery of %s', (_, scheme, more) => {
  it.each([
    ['succeeded', paid],
    ['failed', failed],
  ])('is understood as a payment that %s', async (_, event) => {
    await using api = await startObjectApi({ port: 0, token: API_TOKEN })
    const { signer, settings, request } = await simulateProvider(scheme, { ...place, apiUrl: api.url }, more)
    const object = signer.describeObject?.(event)
    if (object !== undefined) api.add(object)
    const provider = readProvider(settings)
    const delivery = toDelivery(signDelivery(signer, request(event, NOW)))
    const read = await receive(provider, delivery)
    const { type, orderId, amount, currency } = event
    expect(read).toMatchObject({
      ...(WITH_OWN_ID.includes(scheme) ? { id: event.id } : {}),
      type,
      facts: { orderId, ...(WITHOUT_AMOUNT.includes(scheme) ? {} : { amount, currency }) },
    })
    expect(read.facts).not.toHaveProperty('unreadable')
    const isNamed = !(scheme === 'shopify' && event === failed)
    if (isNamed) expect(read.objectId).toBe(signer.paymentIdOf?.(event) ?? event.paymentId)
    // A redelivered event is the same event here, unless two events can have the same bytes. Another payment is another event.
    const again = await receive(provider, toDelivery(signDelivery(signer, request(event, NOW + 1_000))))
    if (scheme === 'plaid') expect(again.id).not.toBe(read.id)
    else expect(again.id).toBe(read.id)
    if (settings.fetch !== undefined) return expect(api.asked).not.toEqual([])
    const other = { ...event, id: 'evt_9', paymentId: 'pay_9', orderId: 'ord_9' }
    expect((await receive(provider, toDelivery(signDelivery(signer, request(other, NOW))))).id).not.toBe(read.id)
  })
})

/** The ids of their events are made from other values. */
const WITH_MADE_ID = ['adyen', 'hubspot']
const batching = [...signers].flatMap(([scheme, { batch }]) => (batch ? [[scheme, batch] as const] : []))

describe.each(batching)('a simulated delivery of several events of %s', (scheme, { most, writeEvents }) => {
  const deliver = async (events: readonly PaymentEvent[]) => {
    const { settings, request } = await simulateProvider(scheme, { ...place, apiUrl: 'http://127.0.0.1:9' })
    const provider = readProvider({ ...settings, maxBytes: 4_194_304 })
    const signed = { ...request(events[0] ?? paid, NOW), body: writeEvents(events) }
    return receiveAll(provider, toDelivery(signDelivery(signers.get(scheme)!, signed)))
  }
  const another = (_: unknown, index: number): PaymentEvent => {
    return { ...paid, id: `evt_${index}`, paymentId: `pay_${index}`, orderId: `ord_${index}` }
  }

  it('is understood as each of them', async () => {
    const sent = [paid, failed]
    const read = await deliver(sent)
    const objectIdOf = (event: PaymentEvent): string => signers.get(scheme)?.paymentIdOf?.(event) ?? event.paymentId
    expect(read).toMatchObject(
      sent.map((event) => ({ type: event.type, objectId: objectIdOf(event), facts: { orderId: event.orderId } })),
    )
    if (!WITH_MADE_ID.includes(scheme)) expect(read.map(({ id }) => id)).toEqual(sent.map(({ id }) => id))
  })

  it('has as many events as the gateway takes, and no more', async () => {
    const events = Array.from({ length: most + 1 }, another)
    expect(new Set((await deliver(events.slice(1))).map(({ id }) => id)).size).toBe(most)
    expect(await deliver(events)).toMatchObject([{ type: 'unreadable', facts: { withheld: 'unreadable' } }])
  })
})

describe('standard webhooks with a pair of keys', () => {
  it('is accepted with the public half, and refused once a byte was changed', async () => {
    const { signWith, value } = makeAsymmetricStandardSecret()
    const signer = signers.get('standard-webhooks')!
    const provider = readProvider({
      scheme: 'standard-webhooks',
      effects: PAYMENT_EVENT_TYPES,
      secrets: [{ id: 's1', value }],
    })
    const request = { body: signer.writeEvent(paid), secret: signWith, now: NOW, eventId: 'evt_1' }
    expect(await receive(provider, toDelivery(signDelivery(signer, request)))).toMatchObject({ id: 'evt_1' })
    for (const tampered of tamperedParts) {
      const spoiled = toDelivery(signTampered(signer, request, tampered))
      expect(await provider.verify(spoiled, NOW, fetch)).toHaveProperty('refused')
    }
  })
})
