import type { Recipe } from './recipe.ts'

/** The 32 bytes 00 01 … 1f. */
const KEY = Buffer.from(Array.from({ length: 32 }, (_, index) => index))
const HEX = '954170223fd5be8e03970efe3ecfb1cefe4d2b5a049e2b6cbe521380bf89f197'
const BASE64 = 'lUFwIj/Vvo4Dlw7+Ps+xzv5NK1oEnitsvlITgL+J8Zc='
const SHA512 =
  '0cea6bfe5b7de5939e6153a351d1cfb4bc97a15bbd73b815e37280aee652e6f7491de1481d0f38c864c821060848455b43ac675b23274f0323a05721eac5a0dc'
const V0 = '1b0e49ad6233f18bc76d7c85a819c24764bccee2cf8719c3c54f4053f0acbb1d'

const body: Pick<Recipe, 'secret' | 'text'> = { secret: 'test_secret', text: (bytes) => [bytes] }
const hexBody = { ...body, encoding: 'hex', independent: HEX } as const
const base64Body = { ...body, encoding: 'base64', independent: BASE64 } as const
const sha512 = { algorithm: 'sha512', independent: SHA512 } as const
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

const { keyOf: _, ...standardText } = standardV1
const svixV1 = {
  ...standardV1,
  header: 'svix-signature',
  timeHeader: 'svix-timestamp',
  lines: [['svix-id', 'msg_0001']],
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
  { ...hexBody, ...sha512, scheme: 'authorizenet', lenient: true, header: 'X-ANET-Signature', prefix: 'sha512=' },
  {
    ...body,
    scheme: 'calendly',
    header: 'Calendly-Webhook-Signature',
    ...timedList('v1'),
    independent: 'e83e8c48af85e07092d429601893077a9347dc1b45bbfaeb788324e9b65083a3',
  },
  { ...hexBody, scheme: 'checkout', header: 'Cko-Signature' },
  { ...svixV1, scheme: 'clerk' },
  { ...hexBody, scheme: 'coinbase-commerce', header: 'X-CC-Webhook-Signature' },
  { ...hexBody, scheme: 'creem', header: 'creem-signature' },
  { ...base64Body, scheme: 'docusign', header: 'X-DocuSign-Signature-1' },
  { ...standardV1, scheme: 'dodo' },
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
  {
    ...body,
    scheme: 'hubspot',
    lenient: true,
    settings: { publicUrl: 'https://example.com/api/webhooks/hubspot' },
    header: 'X-HubSpot-Signature-v3',
    timeHeader: 'X-HubSpot-Request-Timestamp',
    encoding: 'base64',
    text: (bytes, time) => ['POSThttps://example.com/api/webhooks/hubspot', bytes, time],
    independent: 'IKnkRQv0O/j8sRMMp52DP0FD728C+7kj17PM1EyDYQI=',
  },
  { ...hexBody, scheme: 'lemonsqueezy', header: 'X-Signature' },
  { ...hexBody, scheme: 'meta', header: 'X-Hub-Signature-256', prefix: 'sha256=' },
  { ...hexBody, scheme: 'modern-treasury', header: 'X-Signature' },
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
  {
    ...hexBody,
    ...sha512,
    scheme: 'paystack',
    header: 'x-paystack-signature',
  },
  {
    ...standardText,
    scheme: 'polar',
    secret: 'polar_whs_test_secret',
    independent: 'E9gDDXyfthhX9+iG8DWASz2hpdlAmna39sPDzh05P98=',
  },
  { ...hexBody, scheme: 'razorpay', header: 'X-Razorpay-Signature' },
  { ...svixV1, scheme: 'resend' },
  {
    ...body,
    scheme: 'revenuecat',
    header: 'X-RevenueCat-Webhook-Signature',
    ...timedList('v1'),
    independent: 'e83e8c48af85e07092d429601893077a9347dc1b45bbfaeb788324e9b65083a3',
  },
  {
    ...body,
    scheme: 'revolut',
    lenient: true,
    commaSeparated: true,
    header: 'Revolut-Signature',
    prefix: 'v1=',
    timeHeader: 'Revolut-Request-Timestamp',
    encoding: 'hex',
    text: (bytes, time) => [`v1.${time}.`, bytes],
    independent: '751a609a52519151f4100f081163b8a5c607805b9f73ac633dc265dc4ccf4c62',
  },
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
  {
    ...body,
    scheme: 'workos',
    lenient: true,
    header: 'WorkOS-Signature',
    ...timedList('v1'),
    independent: 'e83e8c48af85e07092d429601893077a9347dc1b45bbfaeb788324e9b65083a3',
  },
  { ...base64Body, scheme: 'x', header: 'x-twitter-webhooks-signature', prefix: 'sha256=' },
  { ...v0, scheme: 'zoom', header: 'x-zm-signature', timeHeader: 'x-zm-request-timestamp' },
]
