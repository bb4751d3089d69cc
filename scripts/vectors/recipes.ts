import { manifestOf, mercadopagoCases } from './mercadopago-cases.ts'
import {
  githubCases,
  gocardlessCases,
  lemonsqueezyCases,
  razorpayCases,
  shopifyCases,
  squareCases,
  woocommerceCases,
} from './own-body-cases.ts'
import { cashfreeCases, hook0Cases, paddleCases, slackCases, zoomCases } from './own-time-cases.ts'
import type { Recipe } from './recipe.ts'
import { API } from './vector.ts'

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

/** Every provider whose vectors are made by rule. */
export const RECIPES: readonly Recipe[] = [
  {
    ...body,
    scheme: 'cashfree',
    header: 'x-webhook-signature',
    timeHeader: 'x-webhook-timestamp',
    encoding: 'base64',
    millisecondsToo: true,
    text: (bytes, time) => [time, bytes],
    independent: 'FaHjyjy7CMrDEJpAc/yPv0ObYCFtkFNWlATOFTKah1o=',
    own: cashfreeCases,
  },
  { ...hexBody, scheme: 'checkout', header: 'Cko-Signature' },
  { ...hexBody, scheme: 'github', header: 'X-Hub-Signature-256', prefix: 'sha256=', own: githubCases },
  { ...hexBody, scheme: 'gocardless', header: 'Webhook-Signature', own: gocardlessCases },
  {
    ...body,
    scheme: 'hook0',
    header: 'X-Hook0-Signature',
    encoding: 'hex',
    list: { separator: ',', time: 't', signature: 'v0' },
    text: (bytes, time) => [`${time}.`, bytes],
    independent: 'e83e8c48af85e07092d429601893077a9347dc1b45bbfaeb788324e9b65083a3',
    own: hook0Cases,
  },
  { ...hexBody, scheme: 'lemonsqueezy', header: 'X-Signature', own: lemonsqueezyCases },
  {
    ...body,
    scheme: 'mercadopago',
    settings: API,
    header: 'x-signature',
    encoding: 'hex',
    list: { separator: ',', time: 'ts', signature: 'v1' },
    lines: [['x-request-id', 'req-0001']],
    query: 'data.id=123456&type=payment',
    bodyUnsigned: true,
    millisecondsToo: true,
    text: (_, time) => [manifestOf(time)],
    independent: '79d4b2f18e429d5a0a6455e873476770385425bc92ef275b0aaeccb4b4762f64',
    own: mercadopagoCases,
  },
  { ...hexBody, scheme: 'mollie', header: 'X-Mollie-Signature', prefix: 'sha256=', prefixOptional: true },
  {
    ...body,
    scheme: 'paddle',
    header: 'Paddle-Signature',
    encoding: 'hex',
    list: { separator: ';', time: 'ts', signature: 'h1' },
    text: (bytes, time) => [`${time}:`, bytes],
    independent: '5d725b4fd4b3a85801df564613f3dc4442735ba89f6a6c4f5171976f08389b8d',
    own: paddleCases,
  },
  { ...hexBody, scheme: 'razorpay', header: 'X-Razorpay-Signature', own: razorpayCases },
  { ...base64Body, scheme: 'shopify', header: 'X-Shopify-Hmac-Sha256', own: shopifyCases },
  {
    ...v0,
    scheme: 'slack',
    header: 'X-Slack-Signature',
    timeHeader: 'X-Slack-Request-Timestamp',
    own: slackCases,
  },
  {
    ...body,
    scheme: 'square',
    settings: { publicUrl: 'https://example.com/api/webhooks/square' },
    header: 'x-square-hmacsha256-signature',
    encoding: 'base64',
    text: (bytes) => ['https://example.com/api/webhooks/square', bytes],
    independent: 'LB8lehz5lb+3Lnk/oXPjMYF64GC10GVkOd0odaisopM=',
    own: squareCases,
  },
  { ...base64Body, scheme: 'woocommerce', header: 'X-WC-Webhook-Signature', own: woocommerceCases },
  { ...base64Body, scheme: 'x', header: 'x-twitter-webhooks-signature', prefix: 'sha256=' },
  { ...v0, scheme: 'zoom', header: 'x-zm-signature', timeHeader: 'x-zm-request-timestamp', own: zoomCases },
]
