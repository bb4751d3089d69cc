import { createPublicKey } from 'node:crypto'
import { discordCases, sendgridCases } from './cases/asymmetric-cases.ts'
import { hmacCases } from './cases/hmac-cases.ts'
import {
  adyenPlatformCases,
  githubCases,
  gocardlessCases,
  lemonsqueezyCases,
  razorpayCases,
  shopifyCases,
  squareCases,
  woocommerceCases,
} from './cases/own-body-cases.ts'
import { cashfreeCases, hook0Cases, paddleCases, slackCases, stripeCases, zoomCases } from './cases/own-time-cases.ts'
import { gitlabSigningCases, standardV1aCases, standardV1Cases } from './cases/standard-cases.ts'
import { ANOTHER, createEcdsaSigner, KEY, signEd25519 } from './keys.ts'
import { knownSignatures } from './known-signatures.ts'
import type { Recipe } from './recipe.ts'
import { manifestOf, mercadopagoCases } from './schemes/mercadopago-cases.ts'
import { TWILIO_FORM, TWILIO_QUERY, TWILIO_URL, textOfTwilioForm, twilioCases } from './schemes/twilio-cases.ts'
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
const timedList = (signature: string) =>
  ({
    encoding: 'hex',
    list: { separator: ',', time: 't', signature },
    text: (bytes: Buffer, time: string) => [`${time}.`, bytes],
  }) as const

const SPKI = { format: 'der', type: 'spki' } as const
const ecdsa = createEcdsaSigner(knownSignatures('sendgrid'))
const sendgridKey = createPublicKey(ecdsa.publicKey).export(SPKI).toString('base64')
const edwards = { sign: signEd25519, another: ANOTHER }
const standard = {
  header: 'webhook-signature',
  encoding: 'base64',
  blankSeparated: true,
  timeHeader: 'webhook-timestamp',
  lines: [['webhook-id', 'msg_0001']],
  text: (bytes: Buffer, time: string) => [`msg_0001.${time}.`, bytes],
} as const
const standardV1 = {
  ...standard,
  secret: `whsec_${KEY.toString('base64')}`,
  keyOf: (secret: string) => Buffer.from(secret.replace('whsec_', ''), 'base64'),
  prefix: 'v1,',
  independent: 'JNszWeF+I4U+eFAOuTXBJ8C0b87vaX8QnYayGpiaEjU=',
} as const

/** Every provider whose vectors follow from a recipe alone. */
export const RECIPES: readonly Recipe[] = [
  {
    ...body,
    scheme: 'adyen-platform',
    secret: KEY.toString('hex'),
    keyOf: (secret) => Buffer.from(secret, 'hex'),
    header: 'HmacSignature',
    encoding: 'base64',
    independent: 'PkBqMmqKEfLXaWdRKWHb8q2UYyLfLD6psDHMK8ZuiZ0=',
    own: adyenPlatformCases,
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
    own: cashfreeCases,
  },
  { ...hexBody, scheme: 'checkout', header: 'Cko-Signature' },
  {
    scheme: 'discord',
    secret: '03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8',
    signer: edwards,
    header: 'X-Signature-Ed25519',
    timeHeader: 'X-Signature-Timestamp',
    encoding: 'hex',
    text: (bytes, time) => [time, bytes],
    independent:
      '320ff064ffd84cc82598729dac6ff8c25d12cf18b8d368bd383fa03cc47556c0f54735e15b50b5e24eb9a62cb801d9f7d040dfe0ff02349391f06284e2853a0b',
    own: discordCases,
  },
  { ...hexBody, scheme: 'github', header: 'X-Hub-Signature-256', prefix: 'sha256=', own: githubCases },
  { ...standardV1, scheme: 'gitlab', own: gitlabSigningCases },
  { ...hexBody, scheme: 'gocardless', header: 'Webhook-Signature', own: gocardlessCases },
  {
    ...hexBody,
    scheme: 'hmac',
    mark: ' (set as GitHub signs)',
    settings: { header: 'X-Hub-Signature-256', prefix: 'sha256=' },
    header: 'X-Hub-Signature-256',
    prefix: 'sha256=',
    own: hmacCases,
  },
  {
    ...base64Body,
    scheme: 'hmac',
    mark: ' (set as Shopify signs)',
    settings: { header: 'X-Shopify-Hmac-Sha256', encoding: 'base64' },
    header: 'X-Shopify-Hmac-Sha256',
  },
  {
    ...v0,
    scheme: 'hmac',
    mark: ' (set as Slack signs)',
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
    scheme: 'hook0',
    header: 'X-Hook0-Signature',
    ...timedList('v0'),
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
    ownBody: true,
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
  {
    scheme: 'sendgrid',
    secret: sendgridKey,
    signer: { sign: ecdsa.sign, another: ANOTHER },
    header: 'X-Twilio-Email-Event-Webhook-Signature',
    timeHeader: 'X-Twilio-Email-Event-Webhook-Timestamp',
    encoding: 'base64',
    text: (bytes, time) => [time, bytes],
    independent: null,
    own: (recipe) => sendgridCases(recipe, ecdsa),
  },
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
  { ...standardV1, scheme: 'standard-webhooks', own: standardV1Cases },
  {
    ...standard,
    scheme: 'standard-webhooks',
    mark: ' (v1a)',
    secret: 'whpk_A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=',
    signer: edwards,
    prefix: 'v1a,',
    independent: 'Fj4gOiNn/eCJdGHrYPA5QLR26vQKM0CxLNoag6sU54tDc62bWnD02xNmnObLOs4w7I02ZEmxoHZbM1ZXVD/uCQ==',
    own: standardV1aCases,
  },
  {
    scheme: 'stripe',
    secret: 'whsec_test_secret',
    header: 'Stripe-Signature',
    ...timedList('v1'),
    independent: 'a34aa3d9a65afc219132646c23329f95dc1208c066855aebd9bb7d2c0fd0f158',
    own: stripeCases,
  },
  {
    scheme: 'twilio',
    settings: { publicUrl: TWILIO_URL },
    secret: 'test_secret',
    algorithm: 'sha1',
    header: 'X-Twilio-Signature',
    encoding: 'base64',
    query: TWILIO_QUERY,
    body: TWILIO_FORM,
    ownBody: true,
    bodyAt: (at) => Buffer.from(`MessageSid=SM${at}`),
    text: (form) => [`${TWILIO_URL}?${TWILIO_QUERY}${textOfTwilioForm(form.toString())}`],
    independent: 'zGN1YW6LqGD6FrPl6+w7mIVIaMM=',
    own: twilioCases,
  },
  { ...base64Body, scheme: 'woocommerce', header: 'X-WC-Webhook-Signature', own: woocommerceCases },
  { ...base64Body, scheme: 'x', header: 'x-twitter-webhooks-signature', prefix: 'sha256=' },
  { ...v0, scheme: 'zoom', header: 'x-zm-signature', timeHeader: 'x-zm-request-timestamp', own: zoomCases },
]
