import type { Change, Mutation } from './mutation.ts'

const GATEWAY = 'packages/gateway/src'
const KERNEL = 'packages/kernel/src'
const SIGNING = 'packages/webhooks/src/signing'
const SENDERS = ['standard-webhooks', 'svix', 'stripe', 'github', 'hmac']
// Skips the released contracts. They repeat the same checks while nothing differs, and would double the time.
const PRESENT = 'answers as (?!releases)'

/** Changes of the gateway as the receiver of deliveries from providers. */
const ofReceiver: readonly Change[] = [
  {
    breaks: 'the answer to a delivery is renamed',
    tells: 'missing the following keys: received',
    file: `${GATEWAY}/http/webhooks/webhook-handler.ts`,
    find: '{"received":true}',
    replace: '{"accepted":true}',
  },
  {
    breaks: 'a forged delivery is refused with another status',
    tells: 'expected 401 but was 403',
    file: `${GATEWAY}/errors.ts`,
    find: "defineError('signature_invalid', {\n  status: 401,",
    replace: "defineError('signature_invalid', {\n  status: 403,",
  },
  {
    breaks: 'a forged delivery is refused without a challenge',
    tells: "a header 'WWW-Authenticate'",
    file: `${GATEWAY}/receive/confirm-events.ts`,
    find: "{ 'WWW-Authenticate': 'Signature realm=\"webhooks\"' }",
    replace: '{}',
  },
  {
    breaks: 'the answer to a wrong method does not name the right one',
    tells: "a header 'Allow'",
    file: `${GATEWAY}/http/webhooks/webhook-checks.ts`,
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
]

/** Changes of the gateway that only less usual deliveries meet. */
const ofUnusual: readonly Change[] = [
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
    file: `${GATEWAY}/receive/media-type.ts`,
    find: 'if (value === undefined || USUAL.has(value)) return',
    replace:
      "if (value === undefined || value === 'application/json') return\n  if (value.includes('charset')) throw unsupportedMediaType()",
  },
  {
    breaks: 'other charsets are taken',
    tells: 'beside its contract',
    file: `${GATEWAY}/receive/media-type.ts`,
    find: "&& (charset === undefined || charset === 'utf-8')",
    replace: '&& charset !== null',
    only: 'another charset',
  },
  {
    breaks: 'an event that cannot be stored is answered with 200 or another status',
    tells: 'that cannot be stored',
    file: `${GATEWAY}/errors.ts`,
    find: "defineError('not_stored', {\n  status: 500,",
    replace: "defineError('not_stored', {\n  status: 503,",
  },
  {
    breaks: 'deliveries that are too many get another status',
    tells: 'beside its contract',
    file: `${KERNEL}/error-codes.ts`,
    find: "defineError('rate_limited', { status: 429,",
    replace: "defineError('rate_limited', { status: 503,",
    only: 'another charset',
  },
]

/** Changes of the senders of deliveries. */
const ofSenders: readonly Change[] = [
  {
    breaks: 'a sender renames the header of its signature',
    tells: "a header 'stripe-signature'",
    file: `${SIGNING}/payments/stripe.ts`,
    find: "'stripe-signature'",
    replace: "'x-stripe-signature'",
    consumers: ['stripe'],
  },
  {
    breaks: 'senders rename a member of their events',
    tells: 'asks for other things',
    file: `${SIGNING}/payment-event.ts`,
    find: 'object: { id: paymentId, orderId,',
    replace: 'object: { id: paymentId, order: orderId,',
    consumers: ['standard-webhooks', 'svix', 'hmac'],
  },
]

/** The mutations of deliveries: the gateway as their receiver, and their senders. */
export const DELIVERY_MUTATIONS: readonly Mutation[] = [
  ...[...ofReceiver, ...ofUnusual].map((change) => ({
    ...{ test: 'test/contract/webhook-gateway.provider.test.ts', only: PRESENT, consumers: SENDERS },
    ...change,
  })),
  ...ofSenders.map((change) => ({
    ...{ test: 'test/contract/webhook-gateway.consumer.test.ts', consumers: SENDERS },
    ...change,
  })),
]
