import { createHmac } from 'node:crypto'
import { sign as signForGithub } from '@octokit/webhooks-methods'
import { makeDevelopmentSecret } from '@oncehook/simulator/development-secret'
import type { Delivery, Provider } from '@oncehook/webhooks/providers'
import type { PaymentEvent } from '@oncehook/webhooks/signing/payment-event'
import { signDelivery } from '@oncehook/webhooks/signing/signer'
import { makeProvider } from '@oncehook/webhooks/testing/make-provider'
import { deliveryOf, providerOf, readVectorFiles, type Vector } from '@oncehook/webhooks/testing/vectors'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import Stripe from 'stripe'
import { Webhook as SvixWebhook } from 'svix'
import twilio from 'twilio'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import {
  adyenValidator,
  OFFICIAL_LIBRARIES,
  type OfficialLibrary,
  type Sent,
  toParameters,
} from './support/providers/official-libraries.ts'
import { simulateProvider } from './support/providers/simulated-provider.ts'

const NOW = 1_760_000_000_000
const PUBLIC_URL = 'https://pay.example.com/api/webhooks/p'
const place = { publicUrl: PUBLIC_URL, apiUrl: 'http://127.0.0.1:9', apiToken: 'unused', now: NOW }

const paid: PaymentEvent = {
  id: 'evt_1',
  type: 'payment.succeeded',
  paymentId: 'pay_1',
  orderId: 'ord_é',
  amount: 1999,
  currency: 'EUR',
  occurredAt: NOW,
}

/** A valid delivery, for us and for a library. */
interface Both {
  readonly provider: Provider
  readonly delivery: Delivery
  readonly sent: Sent
}

function toSent({ rawBody, rawHeaders, query }: Delivery, rest: Pick<Sent, 'secret' | 'publicUrl' | 'now'>): Sent {
  const pairs = rawHeaders.flatMap((name, at): [string, string][] =>
    at % 2 === 0 ? [[name, rawHeaders[at + 1] ?? '']] : [],
  )
  return { body: rawBody.toString(), headers: new Headers(pairs), query, ...rest }
}

/** The delivery that the simulator sends at `now`, with any body. */
async function simulate(scheme: string, { now = NOW, body }: { now?: number; body?: Buffer } = {}): Promise<Both> {
  const { signer, secret, settings, request } = await simulateProvider(scheme, place)
  const asked = request(paid, now)
  const signed = signDelivery(signer, body === undefined ? asked : { ...asked, body })
  const delivery = { rawBody: Buffer.from(signed.body), rawHeaders: signed.headers.flat(), query: signed.query }
  const { secrets: _, ...own } = settings
  const value = secret.value ?? ''
  const provider = makeProvider({ settings: { ...own, scheme }, secrets: [{ value }] })
  return { provider, delivery, sent: toSent(delivery, { secret: value, publicUrl: PUBLIC_URL, now }) }
}

async function accepts({ provider }: Pick<Both, 'provider'>, delivery: Delivery, now = NOW): Promise<boolean> {
  const verdict = await provider.verify(delivery, now, fetch)
  return 'secretId' in verdict && verdict.refusedItems === undefined
}

// Some libraries read the clock of the process.
beforeAll(() => void vi.useFakeTimers({ toFake: ['Date'], now: NOW }))
afterAll(() => void vi.useRealTimers())

/** Changes the part of a body that the scheme signs. */
function tamper(scheme: string, body: string): string {
  if (scheme === 'adyen') return body.replace('OncehookECOM', 'OncehookECON').replace('TestMerchant', 'TestMerchanu')
  return scheme === 'twilio' && !body.startsWith('{') ? `${body}&More=1` : `${body} `
}

describe.each(OFFICIAL_LIBRARIES.map((library) => [library.scheme, library.name, library] as const))(
  '%s, as the official library %s sees it',
  (scheme, name, library) => {
    it('is what the simulator sends, until it is changed', async () => {
      const { provider, delivery, sent } = await simulate(scheme)
      expect(await library.verify(sent)).toBe(true)
      expect(await accepts({ provider }, delivery)).toBe(true)
      if (scheme === 'mercadopago') {
        // This scheme signs the id in the query, and nothing of the body.
        expect(await library.verify({ ...sent, query: 'data.id=1&type=payment' })).toBe(false)
        expect(await accepts({ provider }, { ...delivery, query: 'data.id=1&type=payment' })).toBe(false)
        return
      }
      const changed = tamper(scheme, sent.body)
      expect(await library.verify({ ...sent, body: changed })).toBe(false)
      expect(await accepts({ provider }, { ...delivery, rawBody: Buffer.from(changed) })).toBe(false)
      const other = await simulate(scheme)
      expect(await library.verify({ ...sent, secret: other.sent.secret })).toBe(false)
      expect(await accepts(other, delivery)).toBe(false)
    })

    const vectors = readVectorFiles()
      .flatMap((file) => (file.scheme === scheme ? file.cases : []))
      .filter(
        ({ verdict, why }) =>
          verdict === 'accepted' && /^signed as |^published|^the published|^(?:one|two|six) items?$/.test(why),
      )
      .filter((vector) => isKnownTo(name, vector))

    it('is what our vectors contain, until it is changed', async () => {
      for (const vector of vectors) {
        const now = vector.now * 1000
        vi.setSystemTime(now)
        const delivery = deliveryOf(vector)
        const publicUrl = String(vector.settings?.publicUrl ?? '')
        const sent = toSent(delivery, { secret: vector.secret, publicUrl, now })
        expect(await library.verify(sent), vector.why).toBe(true)
        const provider = providerOf(scheme, vector)
        expect(await accepts({ provider }, delivery, now), vector.why).toBe(true)
        if (scheme === 'mercadopago') continue
        const changed = tamper(scheme, sent.body)
        expect(await library.verify({ ...sent, body: changed }), vector.why).toBe(false)
        expect(await accepts({ provider }, { ...delivery, rawBody: Buffer.from(changed) }, now), vector.why).toBe(false)
      }
      vi.setSystemTime(NOW)
      expect(vectors.length).toBeGreaterThan(0)
    })
  },
)

/** The libraries of Standard Webhooks know v1 only, and one of them knows only one family of header names. */
function isKnownTo(name: string, { secret, headers }: Vector): boolean {
  // WorkOS signs times in milliseconds only.
  if (name === '@workos-inc/node') return headers.some(([, value]) => /^t=\d{13},/.test(value))
  if (name !== 'standardwebhooks' && name !== 'svix') return true
  const names = headers.map(([header]) => header.toLowerCase())
  return !secret.startsWith('whpk_') && (name === 'svix' || names.includes('webhook-id'))
}

const body = JSON.stringify({
  id: 'evt_1',
  type: 'payment.succeeded',
  data: { object: { id: 'pay_1', note: 'café 10 €' } },
})

interface SignedByLibrary {
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  readonly query?: string
}

const at = new Date(NOW)

const SIGNERS: readonly [
  name: string,
  scheme: string,
  sign: (secret: string) => SignedByLibrary | Promise<SignedByLibrary>,
][] = [
  [
    '@octokit/webhooks-methods',
    'github',
    async (secret) => ({ body, headers: { 'x-hub-signature-256': await signForGithub(secret, body) } }),
  ],
  [
    'stripe',
    'stripe',
    (secret) => {
      const parts = { payload: body, secret, timestamp: NOW / 1000 }
      const signature = new Stripe('sk_test_unused').webhooks.generateTestHeaderString(parts)
      return { body, headers: { 'stripe-signature': signature } }
    },
  ],
  [
    'standardwebhooks',
    'standard-webhooks',
    (secret) => ({ body, headers: standardHeaders('webhook', new StandardWebhook(secret).sign('msg_1', at, body)) }),
  ],
  [
    'svix',
    'standard-webhooks',
    (secret) => ({ body, headers: standardHeaders('svix', new SvixWebhook(secret).sign('msg_1', at, body)) }),
  ],
  [
    'twilio, a form',
    'twilio',
    (secret) => {
      const form = new URLSearchParams({ CallSid: 'CA1', Result: 'success', Order: 'o & 1', B: 'é' }).toString()
      const signature = twilio.getExpectedTwilioSignature(secret, `${PUBLIC_URL}?tenant=a`, toParameters(form))
      return { body: form, query: 'tenant=a', headers: { 'x-twilio-signature': signature } }
    },
  ],
  [
    'twilio, JSON',
    'twilio',
    (secret) => {
      const query = `bodySHA256=${twilio.getExpectedBodyHash(body)}`
      const signature = twilio.getExpectedTwilioSignature(secret, `${PUBLIC_URL}?${query}`, {})
      return { body, query, headers: { 'x-twilio-signature': signature } }
    },
  ],
  [
    '@adyen/api-library, items',
    'adyen',
    (secret) => {
      const items = ['1', '2'].map((pspReference) => {
        const amount = { value: 1999, currency: 'EUR' }
        const item = {
          pspReference,
          merchantAccountCode: 'M',
          merchantReference: 'ord:1',
          amount,
          eventCode: 'AUTHORISATION',
          success: 'true',
        }
        const hmacSignature = adyenValidator.calculateHmac(item as never, secret)
        return { NotificationRequestItem: { ...item, additionalData: { hmacSignature } } }
      })
      return { body: JSON.stringify({ live: 'false', notificationItems: items }), headers: {} }
    },
  ],
  [
    '@adyen/api-library, bodies',
    'adyen-platform',
    (secret) => ({ body, headers: { hmacsignature: adyenValidator.calculateHmac(body, secret) } }),
  ],
]

function standardHeaders(family: string, signature: string): Readonly<Record<string, string>> {
  return { [`${family}-id`]: 'msg_1', [`${family}-timestamp`]: String(NOW / 1000), [`${family}-signature`]: signature }
}

describe.each(SIGNERS)('what %s signs', (_, scheme, sign) => {
  it('is accepted, until it is changed', async () => {
    const { provider, sent } = await simulate(scheme)
    const signed = await sign(sent.secret)
    const rawHeaders = Object.entries(signed.headers).flat()
    const delivery = { rawBody: Buffer.from(signed.body), rawHeaders, query: signed.query ?? '' }
    expect(await accepts({ provider }, delivery)).toBe(true)
    const changed = signed.body.replace(scheme === 'adyen' ? '1999' : scheme === 'twilio' ? '1' : 'pay_1', '0')
    expect(changed).not.toBe(signed.body)
    expect(await accepts({ provider }, { ...delivery, rawBody: Buffer.from(changed) })).toBe(false)
  })
})

/** A delivery that a library wrongly accepts, made from a valid one. */
interface Hole {
  readonly name: string
  readonly what: string
  readonly scheme: string
  readonly pass: () => Promise<Both>
}

const YEARS_MS = 10 * 365 * 86_400_000

function withHeader(both: Both, header: string, change: (value: string) => string): Both {
  const rawHeaders = both.delivery.rawHeaders.map((text, index, all) =>
    index % 2 === 1 && all[index - 1]?.toLowerCase() === header ? change(text) : text,
  )
  const delivery = { ...both.delivery, rawHeaders }
  return { ...both, delivery, sent: toSent(delivery, both.sent) }
}

/** Signed for the replacement character, and sent as bytes that are not UTF-8. */
async function undecodable(scheme: string): Promise<Both> {
  const other = await simulate(scheme, { body: Buffer.from('{"id":"\ufffd"}') })
  const rawBody = Buffer.concat([Buffer.from('{"id":"'), Buffer.of(0xff), Buffer.from('"}')])
  const delivery = { ...other.delivery, rawBody }
  return { ...other, delivery, sent: toSent(delivery, other.sent) }
}

function hole([name = '', scheme = '']: readonly string[], what: string, pass: () => Promise<Both>): Hole {
  return { name, what, scheme, pass }
}

const HOLES: readonly Hole[] = [
  ...['stripe', '@slack/bolt'].map((name) =>
    hole([name, name === 'stripe' ? 'stripe' : 'slack'], 'ten years ahead of its time', () =>
      simulate(name === 'stripe' ? 'stripe' : 'slack', { now: NOW + YEARS_MS }),
    ),
  ),
  ...[
    ['discord-interactions', 'discord'],
    ['@sendgrid/eventwebhook', 'sendgrid'],
    ['mercadopago', 'mercadopago'],
  ].flatMap(([name = '', scheme = '']) => [
    hole([name, scheme], 'ten years old', () => simulate(scheme, { now: NOW - YEARS_MS })),
    hole([name, scheme], 'ten years ahead of its time', () => simulate(scheme, { now: NOW + YEARS_MS })),
  ]),
  hole(['@paddle/paddle-node-sdk', 'paddle'], 'an hour ahead of its time', () =>
    simulate('paddle', { now: NOW + 3_600_000 }),
  ),
  hole(['standardwebhooks', 'standard-webhooks'], 'with letters behind its time', () =>
    signedStandard('msg_1', `${NOW / 1000}abc`),
  ),
  hole(['standardwebhooks', 'standard-webhooks'], 'with a full stop in its id', () =>
    signedStandard('msg.1', String(NOW / 1000)),
  ),
  ...[
    ['stripe', 'stripe'],
    ['@slack/bolt', 'slack'],
    ['@octokit/webhooks-methods', 'github'],
    ['square', 'square'],
    ['@shopify/shopify-api', 'shopify'],
    ['razorpay', 'razorpay'],
    ['discord-interactions', 'discord'],
    ['@adyen/api-library', 'adyen-platform'],
  ].map(([name = '', scheme = '']) =>
    hole([name, scheme], 'whose bytes are no UTF-8 and were not signed', () => undecodable(scheme)),
  ),
  hole(['gocardless-nodejs', 'gocardless'], 'with letters behind its signature', async () =>
    withHeader(await simulate('gocardless'), 'webhook-signature', (value) => `${value}zz`),
  ),
  hole(['gocardless-nodejs', 'gocardless'], 'with its signature in capitals', async () =>
    withHeader(await simulate('gocardless'), 'webhook-signature', (value) => value.toUpperCase()),
  ),
  hole(['discord-interactions', 'discord'], 'with its signature in capitals', async () =>
    withHeader(await simulate('discord'), 'x-signature-ed25519', (value) => value.toUpperCase()),
  ),
  hole(['@adyen/api-library', 'adyen-platform'], 'whose base64 lost its end', async () =>
    withHeader(await simulate('adyen-platform'), 'hmacsignature', (value) => value.replaceAll('=', '')),
  ),
]

async function signedStandard(id: string, timestamp: string): Promise<Both> {
  const both = await simulate('standard-webhooks')
  const key = Buffer.from(both.sent.secret.slice('whsec_'.length), 'base64')
  const text = `${id}.${Number.parseInt(timestamp, 10)}.${both.sent.body}`
  const signature = `v1,${createHmac('sha256', key).update(text).digest('base64')}`
  const rawHeaders = ['webhook-id', id, 'webhook-timestamp', timestamp, 'webhook-signature', signature]
  const delivery = { ...both.delivery, rawHeaders }
  return { ...both, delivery, sent: toSent(delivery, both.sent) }
}

describe('deliveries that an official library accepts and we refuse', () => {
  it.each(HOLES.map((one) => [one.name, one.what, one] as const))(
    '%s: a delivery %s',
    async (name, _, { scheme, pass }) => {
      const { provider, delivery, sent } = await pass()
      const library = OFFICIAL_LIBRARIES.find((one) => one.name === name && one.scheme === scheme) as OfficialLibrary
      expect(await library.verify({ ...sent, now: NOW })).toBe(true)
      expect(await accepts({ provider }, delivery)).toBe(false)
    },
  )

  it('stripe and paddle refuse valid deliveries: the new one of two secrets, and a delay of six seconds', async () => {
    const late = await simulate('paddle', { now: NOW - 6_000 })
    const paddle = OFFICIAL_LIBRARIES.find(({ scheme }) => scheme === 'paddle') as OfficialLibrary
    expect(await paddle.verify({ ...late.sent, now: NOW })).toBe(false)
    expect(await accepts(late, late.delivery)).toBe(true)
    const other = createHmac('sha256', (await makeDevelopmentSecret('paddle', NOW)).value ?? '')
      .update('x')
      .digest('hex')
    const newFirst = withHeader(await simulate('paddle'), 'paddle-signature', (value) => `${value};h1=${other}`)
    expect(await accepts(newFirst, newFirst.delivery)).toBe(true)
  })
})
