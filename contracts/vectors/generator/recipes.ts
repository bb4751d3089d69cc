import type { Recipe } from './recipe.ts'

/** The 32 bytes 00 01 … 1f. */
const KEY = Buffer.from(Array.from({ length: 32 }, (_, index) => index))
const HEX = '954170223fd5be8e03970efe3ecfb1cefe4d2b5a049e2b6cbe521380bf89f197'
const BASE64 = 'lUFwIj/Vvo4Dlw7+Ps+xzv5NK1oEnitsvlITgL+J8Zc='
const V0 = '1b0e49ad6233f18bc76d7c85a819c24764bccee2cf8719c3c54f4053f0acbb1d'

const body: Pick<Recipe, 'secret' | 'text'> = { secret: 'test_secret', text: (bytes) => [bytes] }
const hexBody = { ...body, encoding: 'hex', independent: HEX } as const
const base64Body = { ...body, encoding: 'base64', independent: BASE64 } as const
const v0 = {
  ...body,
  encoding: 'hex',
  prefix: 'v0=',
  text: (bytes: Buffer, time: string) => [`v0:${time}:`, bytes],
  independent: V0,
} as const
const timedList = (signature: string) =>
  ({
    encoding: 'hex',
    list: { separator: ',', time: 't', signature },
    text: (bytes: Buffer, time: string) => [`${time}.`, bytes],
  }) as const

const standardV1 = {
  header: 'webhook-signature',
  encoding: 'base64',
  blankSeparated: true,
  timeHeader: 'webhook-timestamp',
  lines: [['webhook-id', 'msg_0001']],
  text: (bytes: Buffer, time: string) => [`msg_0001.${time}.`, bytes],
  secret: `whsec_${KEY.toString('base64')}`,
  keyOf: (secret: string) => Buffer.from(secret.replace('whsec_', ''), 'base64'),
  prefix: 'v1,',
  independent: 'JNszWeF+I4U+eFAOuTXBJ8C0b87vaX8QnYayGpiaEjU=',
} as const

/** Every provider that signs by an HMAC of the body, and maybe of the time. */
export const RECIPES: readonly Recipe[] = [
  {
    ...body,
    scheme: 'adyen-platform',
    secret: KEY.toString('hex'),
    keyOf: (secret) => Buffer.from(secret, 'hex'),
    header: 'HmacSignature',
    encoding: 'base64',
    independent: 'PkBqMmqKEfLXaWdRKWHb8q2UYyLfLD6psDHMK8ZuiZ0=',
  },
  {
    ...body,
    scheme: 'cashfree',
    header: 'x-webhook-signature',
    timeHeader: 'x-webhook-timestamp',
    encoding: 'base64',
    millisecondsToo: true,
    text: (bytes, time) => [time, bytes],
    independent: 'FaHjyjy7CMrDEJpAc/yPv0ObYCFtkFNWlATOFTKah1o=',
  },
  { ...hexBody, scheme: 'checkout', header: 'Cko-Signature' },
  { ...hexBody, scheme: 'github', header: 'X-Hub-Signature-256', prefix: 'sha256=' },
  { ...standardV1, scheme: 'gitlab' },
  { ...hexBody, scheme: 'gocardless', header: 'Webhook-Signature' },
  {
    ...hexBody,
    scheme: 'hmac',
    mark: ' (set as GitHub signs)',
    lenient: true,
    settings: { header: 'X-Hub-Signature-256', prefix: 'sha256=' },
    header: 'X-Hub-Signature-256',
    prefix: 'sha256=',
  },
  {
    ...base64Body,
    scheme: 'hmac',
    mark: ' (set as Shopify signs)',
    lenient: true,
    settings: { header: 'X-Shopify-Hmac-Sha256', encoding: 'base64' },
    header: 'X-Shopify-Hmac-Sha256',
  },
  {
    ...v0,
    scheme: 'hmac',
    mark: ' (set as Slack signs)',
    lenient: true,
    settings: {
      header: 'X-Slack-Signature',
      prefix: 'v0=',
      timestampHeader: 'X-Slack-Request-Timestamp',
      signedText: 'v0:{timestamp}:{body}',
    },
    header: 'X-Slack-Signature',
    timeHeader: 'X-Slack-Request-Timestamp',
  },
  {
    ...body,
    ...timedList('v1'),
    scheme: 'hmac',
    mark: ' (set as Stripe signs)',
    lenient: true,
    settings: { header: 'Stripe-Signature', separator: ',', timestampPrefix: 't=', prefix: 'v1=' },
    header: 'Stripe-Signature',
    independent: 'a34aa3d9a65afc219132646c23329f95dc1208c066855aebd9bb7d2c0fd0f158',
    secret: 'whsec_test_secret',
  },
  {
    ...body,
    scheme: 'hook0',
    header: 'X-Hook0-Signature',
    ...timedList('v0'),
    independent: 'e83e8c48af85e07092d429601893077a9347dc1b45bbfaeb788324e9b65083a3',
  },
  { ...hexBody, scheme: 'lemonsqueezy', header: 'X-Signature' },
  { ...hexBody, scheme: 'mollie', header: 'X-Mollie-Signature', prefix: 'sha256=', prefixOptional: true },
  {
    ...body,
    scheme: 'paddle',
    header: 'Paddle-Signature',
    encoding: 'hex',
    list: { separator: ';', time: 'ts', signature: 'h1' },
    text: (bytes, time) => [`${time}:`, bytes],
    independent: '5d725b4fd4b3a85801df564613f3dc4442735ba89f6a6c4f5171976f08389b8d',
  },
  { ...hexBody, scheme: 'razorpay', header: 'X-Razorpay-Signature' },
  { ...base64Body, scheme: 'shopify', header: 'X-Shopify-Hmac-Sha256' },
  {
    ...v0,
    scheme: 'slack',
    header: 'X-Slack-Signature',
    timeHeader: 'X-Slack-Request-Timestamp',
  },
  {
    ...body,
    scheme: 'square',
    settings: { publicUrl: 'https://example.com/api/webhooks/square' },
    header: 'x-square-hmacsha256-signature',
    encoding: 'base64',
    text: (bytes) => ['https://example.com/api/webhooks/square', bytes],
    independent: 'LB8lehz5lb+3Lnk/oXPjMYF64GC10GVkOd0odaisopM=',
  },
  { ...standardV1, scheme: 'standard-webhooks' },
  {
    scheme: 'stripe',
    secret: 'whsec_test_secret',
    header: 'Stripe-Signature',
    ...timedList('v1'),
    independent: 'a34aa3d9a65afc219132646c23329f95dc1208c066855aebd9bb7d2c0fd0f158',
  },
  { ...base64Body, scheme: 'woocommerce', header: 'X-WC-Webhook-Signature' },
  { ...base64Body, scheme: 'x', header: 'x-twitter-webhooks-signature', prefix: 'sha256=' },
  { ...v0, scheme: 'zoom', header: 'x-zm-signature', timeHeader: 'x-zm-request-timestamp' },
]
