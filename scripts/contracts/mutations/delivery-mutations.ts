import { type Mutation, mutationsOf, PRESENT } from './mutation.ts'

const SENDERS = ['standard-webhooks', 'svix', 'stripe', 'github', 'hmac']
const PROVIDER = { test: 'test/contract/webhook-gateway.provider.test.ts', only: PRESENT, consumers: SENDERS }

/** Changes of the gateway as the receiver of deliveries from providers. */
const ofReceiver = mutationsOf(PROVIDER, [
  {
    breaks: 'the answer to a delivery is renamed',
    tells: 'missing the following keys: received',
    file: 'packages/gateway/src/http/webhooks/webhook-handler.ts',
    find: '{"received":true}',
    replace: '{"accepted":true}',
  },
  {
    breaks: 'a forged delivery is refused with another status',
    tells: 'expected 401 but was 403',
    file: 'packages/gateway/src/errors.ts',
    find: "defineError('signature_invalid', {\n  status: 401,",
    replace: "defineError('signature_invalid', {\n  status: 403,",
  },
  {
    breaks: 'a forged delivery is refused without a challenge',
    tells: "a header 'WWW-Authenticate'",
    file: 'packages/gateway/src/receive/confirm-events.ts',
    find: "{ 'WWW-Authenticate': 'Signature realm=\"webhooks\"' }",
    replace: '{}',
  },
  {
    breaks: 'the answer to a wrong method does not name the right one',
    tells: "a header 'Allow'",
    file: 'packages/gateway/src/http/webhooks/webhook-checks.ts',
    find: "{ Allow: methods.join(', ') }",
    replace: '{}',
  },
  {
    breaks: 'a delivery of long ago is taken',
    tells: 'expected 401 but was 200',
    file: 'packages/webhooks/src/signatures/signature.ts',
    find: 'Math.abs(now',
    replace: '0 * Math.abs(now',
    consumers: ['standard-webhooks', 'svix', 'stripe', 'hmac'],
  },
])

/** Changes of the gateway that only less usual deliveries meet. */
const ofUnusual = mutationsOf(PROVIDER, [
  {
    breaks: 'only the first of several secrets counts',
    tells: 'that the next secret signs',
    file: 'packages/webhooks/src/signatures/signature.ts',
    find: 'for (const secret of secrets) {\n    if (!isLive',
    replace: 'for (const secret of secrets.slice(0, 1)) {\n    if (!isLive',
  },
  {
    breaks: 'the former names of the headers are no longer known',
    tells: 'expected 401 to be 200',
    file: 'packages/webhooks/src/schemes/generic/standard-webhooks.ts',
    find: "length > 0 ? 'webhook' : 'svix'",
    replace: "length >= 0 ? 'webhook' : 'svix'",
    consumers: ['svix'],
  },
  {
    breaks: 'a media type with a charset is refused',
    tells: 'names its charset',
    file: 'packages/gateway/src/receive/media-type.ts',
    find: 'if (value === undefined || USUAL.has(value)) return',
    replace:
      "if (value === undefined || value === 'application/json') return\n  if (value.includes('charset')) throw unsupportedMediaType()",
  },
  {
    breaks: 'other charsets are taken',
    tells: 'beside its contract',
    file: 'packages/gateway/src/receive/media-type.ts',
    find: "&& (charset === undefined || charset === 'utf-8')",
    replace: '&& charset !== null',
    only: 'another charset',
  },
  {
    breaks: 'an event that cannot be stored is answered with 200 or another status',
    tells: 'that cannot be stored',
    file: 'packages/gateway/src/errors.ts',
    find: "defineError('not_stored', {\n  status: 500,",
    replace: "defineError('not_stored', {\n  status: 503,",
  },
  {
    breaks: 'deliveries that are too many get another status',
    tells: 'beside its contract',
    file: 'packages/kernel/src/error-codes.ts',
    find: "defineError('rate_limited', { status: 429,",
    replace: "defineError('rate_limited', { status: 503,",
    only: 'another charset',
  },
])

/** Changes of the senders of deliveries. */
const ofSenders = mutationsOf({ test: 'test/contract/webhook-gateway.consumer.test.ts', consumers: SENDERS }, [
  {
    breaks: 'a sender renames the header of its signature',
    tells: "a header 'stripe-signature'",
    file: 'packages/webhooks/src/signing/payments/stripe.ts',
    find: "'stripe-signature'",
    replace: "'x-stripe-signature'",
    consumers: ['stripe'],
  },
  {
    breaks: 'senders rename a member of their events',
    tells: 'asks for other things',
    file: 'packages/webhooks/src/signing/payment-event.ts',
    find: 'object: { id: paymentId, orderId,',
    replace: 'object: { id: paymentId, order: orderId,',
    consumers: ['standard-webhooks', 'svix', 'hmac'],
  },
])

/** The mutations of deliveries: the gateway as their receiver, and their senders. */
export const DELIVERY_MUTATIONS: readonly Mutation[] = [...ofReceiver, ...ofUnusual, ...ofSenders]
