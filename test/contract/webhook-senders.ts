import { createHmac } from 'node:crypto'
import type { PaymentEvent } from '@oncehook/webhooks/signing/payment-event'
import type { Signer, SigningSettings } from '@oncehook/webhooks/signing/signer'
import { signers } from '@oncehook/webhooks/signing/signers'
import { MatchersV3 } from '@pact-foundation/pact'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import Stripe from 'stripe'
import { Webhook as SvixWebhook } from 'svix'
import { BOTH_EFFECTS } from '../support/stack/stack-settings.ts'

const { regex } = MatchersV3

/** A kind of provider that delivers to the gateway: how it signs, and how the gateway is configured for it. */
export interface WebhookSender {
  /** Its name as a consumer, and in the path that it delivers to. */
  readonly name: string
  readonly signer: Signer
  /** The header lines of a delivery by the official library, or by its documentation: `signer` and the gateway share code. */
  readonly sign: (body: string, how: Signing) => Record<string, string>
  readonly secret: string
  readonly settings: SigningSettings
  /** Its entry in `PROVIDERS`, without its secrets. */
  readonly provider: object
  readonly signsTime: boolean
  /** The header lines of its deliveries, as far as a contract can contain them: each signature is for one moment. */
  readonly headers: (event: Pick<PaymentEvent, 'id' | 'type'>) => Record<string, string | ReturnType<typeof regex>>
  /** A type that it sends and that changes no order. */
  readonly unhandled: string
}

/** `now` in milliseconds. `id` is that of the message, of which not every sender has one. */
export interface Signing {
  readonly id: string
  readonly now: number
  readonly secret: string
}

/** The largest body that the gateway takes from the senders here. */
export const MAX_BYTES = 1_024

/** The bytes of a body. They do not depend on the writer, or on how often the body was parsed. */
export function bytesOf(body: unknown): Buffer {
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body, inOrder))
}

function inOrder(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** An event with the id and type of a contract. All its other properties follow from these. */
export function eventOf(eventId: string, type: string): PaymentEvent {
  const payment = { paymentId: `pay_${eventId}`, orderId: `ord_${eventId}`, amount: 1999, currency: 'EUR' }
  return { id: eventId, type, ...payment, occurredAt: 1_760_000_000_000 }
}

const GITHUB_TYPES = { succeeded: 'sponsorship.created', failed: 'sponsorship.cancelled' }

/**
 * GitHub signs only the body; the event's name is a header (docs.github.com/webhooks). Its only payments are
 * sponsorships.
 */
const github: Signer = {
  types: GITHUB_TYPES,
  settings: [],
  writeEvent({ type, paymentId, orderId }) {
    if (type === 'ping') return bytesOf({ zen: 'Keep it logically awesome', hook_id: 1, hook: { id: paymentId } })
    const action = type === 'payment.succeeded' ? 'created' : 'cancelled'
    return bytesOf({ action, sponsorship: { id: paymentId, order: orderId } })
  },
  sign: ({ body, secret }) => Object.entries(signAsGithub(Buffer.from(body).toString(), { secret })),
}

function signAsGithub(body: string, { secret }: Pick<Signing, 'secret'>): Record<string, string> {
  return {
    'x-github-event': body.includes('"zen"') ? 'ping' : 'sponsorship',
    'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
  }
}

/** Svix and its many customers send the headers of Standard Webhooks under their former names. */
const svix: Signer = {
  ...signerOf('standard-webhooks'),
  sign: (request) =>
    signerOf('standard-webhooks')
      .sign(request)
      .map(([name, value]) => [name.replace('webhook-', 'svix-'), value]),
}

const HMAC_SETTINGS = {
  ...{ header: 'x-signature', algorithm: 'sha512', encoding: 'base64', prefix: 'v1=' },
  ...{ timestampHeader: 'x-timestamp', signedText: '{timestamp}.{body}' },
}

/** What all senders of Standard Webhooks have in common, whatever their header lines begin with. */
function asStandardWebhooks(prefix: 'webhook' | 'svix'): Omit<WebhookSender, 'name' | 'signer' | 'secret'> {
  const Library = prefix === 'svix' ? SvixWebhook : StandardWebhook
  return {
    sign: (body, { id, now, secret }) => ({
      [`${prefix}-id`]: id,
      [`${prefix}-timestamp`]: secondsOf(now),
      [`${prefix}-signature`]: new Library(secret).sign(id, new Date(now), body),
    }),
    settings: {},
    provider: { scheme: 'standard-webhooks', ...BOTH_EFFECTS },
    signsTime: true,
    headers: ({ id }) => ({
      [`${prefix}-id`]: regex(/^[^.]{1,255}$/, id),
      [`${prefix}-timestamp`]: regex(/^\d{10}$/, '1760000000'),
      [`${prefix}-signature`]: regex('^v1,[A-Za-z0-9+/]{43}=$', `v1,${'A'.repeat(43)}=`),
    }),
    unhandled: 'payment.refunded',
  }
}

/** The kinds of provider whose contracts with the gateway are kept. */
export const SENDERS: readonly WebhookSender[] = [
  {
    name: 'standard-webhooks',
    signer: signerOf('standard-webhooks'),
    secret: `whsec_${Buffer.from('the secret of this test, 32 byte').toString('base64')}`,
    ...asStandardWebhooks('webhook'),
  },
  {
    name: 'svix',
    signer: svix,
    secret: `whsec_${Buffer.from('the secret of a customer of svix').toString('base64')}`,
    ...asStandardWebhooks('svix'),
  },
  {
    name: 'stripe',
    signer: signerOf('stripe'),
    sign: (payload, { now, secret }) => {
      const parts = { payload, secret, timestamp: Number(secondsOf(now)) }
      return { 'stripe-signature': new Stripe('sk_test_unused').webhooks.generateTestHeaderString(parts) }
    },
    secret: 'whsec_of_a_test_and_of_nothing_else_at_all',
    settings: {},
    provider: { scheme: 'stripe', testMode: true },
    signsTime: true,
    headers: () => ({
      'stripe-signature': regex(/^t=\d{10},v1=[0-9a-f]{64}$/, `t=1760000000,v1=${'0'.repeat(64)}`),
    }),
    unhandled: 'charge.refunded',
  },
  {
    name: 'github',
    signer: github,
    sign: signAsGithub,
    secret: 'a secret of a test and of nothing else',
    settings: {},
    provider: {
      scheme: 'github',
      ...BOTH_EFFECTS,
      events: { [GITHUB_TYPES.succeeded]: 'payment.succeeded', [GITHUB_TYPES.failed]: 'payment.failed' },
      read: { order: '/sponsorship/order' },
    },
    signsTime: false,
    headers: ({ type }) => ({
      'x-github-event': type === 'ping' ? 'ping' : 'sponsorship',
      'x-hub-signature-256': regex(/^sha256=[0-9a-f]{64}$/, `sha256=${'0'.repeat(64)}`),
    }),
    unhandled: 'ping',
  },
  {
    name: 'hmac',
    signer: signerOf('hmac'),
    sign: (body, { now, secret }) => {
      const text = `${secondsOf(now)}.${body}`
      const signature = createHmac('sha512', secret).update(text).digest('base64')
      return { 'x-timestamp': secondsOf(now), 'x-signature': `v1=${signature}` }
    },
    secret: 'another secret of a test and of nothing else',
    settings: HMAC_SETTINGS,
    provider: { scheme: 'hmac', ...BOTH_EFFECTS, ...HMAC_SETTINGS },
    signsTime: true,
    headers: () => ({
      'x-signature': regex('^v1=[A-Za-z0-9+/]{86}==$', `v1=${'A'.repeat(86)}==`),
      'x-timestamp': regex(/^\d{10}$/, '1760000000'),
    }),
    unhandled: 'payment.refunded',
  },
]

function secondsOf(now: number): string {
  return String(Math.floor(now / 1_000))
}

function signerOf(scheme: string): Signer {
  const signer = signers.get(scheme)
  if (signer === undefined) throw new Error(`The simulator cannot sign ${scheme}`)
  return signer
}

/** Whether nobody can tell it what to send: then nothing that is authentic is refused. */
export function isPreset({ name }: WebhookSender): boolean {
  return name === 'stripe' || name === 'github'
}
