import { type Change, type Mutation, mutationsOf } from './mutation.ts'

/** Changes of the gateway as a client of providers' APIs. */
const ofApis = mutationsOf({ test: 'test/contract/provider-apis.consumer.test.ts', consumers: ['gateway'] }, [
  {
    breaks: "the gateway sends no token to a provider's API",
    tells: "header 'authorization'",
    file: 'packages/webhooks/src/provider-api/provider-api.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source code
    find: '({ Authorization: `Bearer ${text}` })',
    replace: "({ 'X-Token': text })",
  },
  {
    breaks: 'the gateway asks for another collection of Mollie',
    tells: 'mollie-api.json differ: reads a payment',
    file: 'packages/webhooks/src/schemes/mollie/mollie-classic.ts',
    find: "collection: 'payments' }",
    replace: "collection: 'payment' }",
  },
  {
    breaks: 'the gateway no longer reads the amount of Mercado Pago',
    tells: 'mercadopago-api.json differ: reads a payment',
    file: 'packages/webhooks/src/schemes/payments/mercadopago.ts',
    find: 'object.transaction_amount ?? object.total_amount',
    replace: 'object.total_amount',
  },
  {
    breaks: 'the gateway asks Flutterwave for the transaction instead of its verification',
    tells: 'flutterwave-api.json differ: verifies a transaction',
    file: 'packages/webhooks/src/schemes/payments/flutterwave.ts',
    find: "['transactions', objectId, 'verify']",
    replace: "['transactions', objectId]",
  },
])

/** Changes of the gateway as a client of PayPal. */
const ofPaypal = mutationsOf({ test: 'test/contract/paypal-api.consumer.test.ts', consumers: ['gateway'] }, [
  {
    breaks: 'the gateway signs in to PayPal with its credentials in the body',
    tells: 'paypal-api.json differ: signs in',
    file: 'packages/webhooks/src/schemes/paypal/paypal-api.ts',
    find: "body: 'grant_type=client_credentials'",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source code
    replace: 'body: `grant_type=client_credentials&client=${token}`',
  },
  {
    breaks: 'the gateway asks PayPal for another kind of event',
    tells: 'paypal-api.json differ: reads an event',
    file: 'packages/webhooks/src/schemes/paypal/paypal-api.ts',
    find: "'webhooks-events', id]",
    replace: "'webhook-events', id]",
  },
])

/** Changes of the answers to handshakes, and of the forms that are taken. */
const ofHandshakes: readonly (Change & Pick<Mutation, 'consumers'>)[] = [
  {
    breaks: 'the challenge of Slack is answered under another name',
    tells: 'in a handshake or form',
    file: 'packages/webhooks/src/schemes/services/slack.ts',
    find: 'return { json: { challenge } }',
    replace: 'return { json: { answer: challenge } }',
    consumers: ['slack'],
  },
  {
    breaks: 'the check of a certificate by Slack is stored as a command',
    tells: 'in a handshake or form',
    file: 'packages/webhooks/src/schemes/services/slack.ts',
    find: "get('ssl_check') === '1' ? { json: {} }",
    replace: "get('ssl_check') === 'true' ? { json: {} }",
    consumers: ['slack'],
  },
  {
    breaks: 'a ping of Discord about events is answered like one of interactions',
    tells: 'in a handshake or form',
    file: 'packages/webhooks/src/schemes/services/discord.ts',
    find: 'if (type === 0) return { empty: true }',
    replace: 'if (type === 0) return { json: { type } }',
    consumers: ['discord'],
  },
  {
    breaks: 'the challenge of X is answered in hex',
    tells: 'in a handshake or form',
    file: 'packages/webhooks/src/schemes/services/x.ts',
    find: "[token]), 'latin1').toString('base64')",
    replace: "[token]), 'latin1').toString('hex')",
    consumers: ['x'],
  },
  {
    breaks: 'forms are no longer taken',
    tells: 'in a handshake or form',
    file: 'packages/gateway/src/receive/media-type.ts',
    find: 'if (takesForms && mediaTypeOf(value) === FORM) return',
    replace: '',
    consumers: ['twilio'],
  },
]

/** The mutations of the gateway as a client of providers' APIs, and in handshakes. */
export const PROVIDER_MUTATIONS: readonly Mutation[] = [
  ...ofApis,
  ...ofPaypal,
  ...ofHandshakes.map((change) => ({ test: 'test/contract/handshakes.provider.test.ts', ...change })),
]
