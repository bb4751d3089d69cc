import type { Mutation } from './mutation.ts'

const SCHEMES = 'packages/webhooks/src/schemes'
const APIS = 'test/contract/provider-apis.consumer.test.ts'
const PAYPAL = 'test/contract/paypal-api.consumer.test.ts'
const HANDSHAKES = 'test/contract/handshakes.provider.test.ts'
const RELEASES = 'test/contract/releases.consumer.test.ts'

/** The mutations of the gateway as a client of providers' APIs, in handshakes, and beside an older fulfilment. */
export const PROVIDER_MUTATIONS: readonly Mutation[] = [
  {
    breaks: "the gateway sends no token to a provider's API",
    tells: "header 'authorization'",
    file: 'packages/webhooks/src/provider-api/provider-api.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source code
    find: '({ Authorization: `Bearer ${text}` })',
    replace: "({ 'X-Token': text })",
    ...{ test: APIS, consumers: ['gateway'] },
  },
  {
    breaks: 'the gateway asks for another collection of Mollie',
    tells: 'mollie-api.json differ: reads a payment',
    file: `${SCHEMES}/mollie/mollie-classic.ts`,
    find: "collection: 'payments' }",
    replace: "collection: 'payment' }",
    ...{ test: APIS, consumers: ['gateway'] },
  },
  {
    breaks: 'the gateway no longer reads the amount of Mercado Pago',
    tells: 'mercadopago-api.json differ: reads a payment',
    file: `${SCHEMES}/payments/mercadopago.ts`,
    find: 'object.transaction_amount ?? object.total_amount',
    replace: 'object.total_amount',
    ...{ test: APIS, consumers: ['gateway'] },
  },
  {
    breaks: 'the gateway asks Flutterwave for the transaction instead of its verification',
    tells: 'flutterwave-api.json differ: verifies a transaction',
    file: `${SCHEMES}/payments/flutterwave.ts`,
    find: "['transactions', objectId, 'verify']",
    replace: "['transactions', objectId]",
    ...{ test: APIS, consumers: ['gateway'] },
  },
  {
    breaks: 'the challenge of Slack is answered under another name',
    tells: 'in a handshake or form',
    file: `${SCHEMES}/services/slack.ts`,
    find: 'return { json: { challenge } }',
    replace: 'return { json: { answer: challenge } }',
    ...{ test: HANDSHAKES, consumers: ['slack'] },
  },
  {
    breaks: 'the check of a certificate by Slack is stored as a command',
    tells: 'in a handshake or form',
    file: `${SCHEMES}/services/slack.ts`,
    find: "get('ssl_check') === '1' ? { json: {} }",
    replace: "get('ssl_check') === 'true' ? { json: {} }",
    ...{ test: HANDSHAKES, consumers: ['slack'] },
  },
  {
    breaks: 'a ping of Discord about events is answered like one of interactions',
    tells: 'in a handshake or form',
    file: `${SCHEMES}/services/discord.ts`,
    find: 'if (type === 0) return { empty: true }',
    replace: 'if (type === 0) return { json: { type } }',
    ...{ test: HANDSHAKES, consumers: ['discord'] },
  },
  {
    breaks: 'the gateway signs in to PayPal with its credentials in the body',
    tells: 'paypal-api.json differ: signs in',
    file: `${SCHEMES}/paypal/paypal-api.ts`,
    find: "body: 'grant_type=client_credentials'",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source code
    replace: 'body: `grant_type=client_credentials&client=${token}`',
    ...{ test: PAYPAL, consumers: ['gateway'] },
  },
  {
    breaks: 'the gateway asks PayPal for another kind of event',
    tells: 'paypal-api.json differ: reads an event',
    file: `${SCHEMES}/paypal/paypal-api.ts`,
    find: "'webhooks-events', id]",
    replace: "'webhook-events', id]",
    ...{ test: PAYPAL, consumers: ['gateway'] },
  },
  {
    breaks: 'the challenge of X is answered in hex',
    tells: 'in a handshake or form',
    file: `${SCHEMES}/services/x.ts`,
    find: "[token]), 'latin1').toString('base64')",
    replace: "[token]), 'latin1').toString('hex')",
    ...{ test: HANDSHAKES, consumers: ['x'] },
  },
  {
    breaks: 'forms are no longer taken',
    tells: 'in a handshake or form',
    file: 'packages/gateway/src/receive/media-type.ts',
    find: 'if (takesForms && mediaTypeOf(value) === FORM) return',
    replace: '',
    ...{ test: HANDSHAKES, consumers: ['twilio'] },
  },
  {
    breaks: 'the gateway tries again what an older fulfilment has refused permanently',
    tells: "Today's gateway misreads recorded answers",
    file: 'packages/gateway/src/fulfilment/fulfilment-client.ts',
    find: 'new AppError(reason, { status, retry, message }',
    replace: "new AppError(reason, { status, retry: retry === 'never' ? 'later' : retry, message }",
    ...{ test: RELEASES, consumers: ['gateway'] },
  },
]
