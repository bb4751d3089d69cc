import { createPrivateKey } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { signDelivery } from './signer.ts'
import { signers } from './signers.ts'

const body = Buffer.from(
  '{"id":"evt_0001","type":"payment.succeeded","data":{"object":{"id":"pay_0001","note":"café 10 €"}}}',
)
const now = 1_760_000_000_000
const secret = 'test_secret'
// The 32 bytes 00 01 … 1f.
const key = Buffer.from(Array.from({ length: 32 }, (_, index) => index))
const form = 'MessageSid=SM0001&Body=caf%C3%A9+%26+co&From=%2B15550001111&To=%2B15550002222'

/** The seed as the private key of a file (PKCS #8), which is what a signer takes. */
function toPem(seed: Buffer): string {
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed])
  return String(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }).export({ format: 'pem', type: 'pkcs8' }))
}

function sign(scheme: string, request: object = {}) {
  const signer = signers.get(scheme)
  if (signer === undefined) throw new Error(scheme)
  return signDelivery(signer, { body, secret, now, eventId: 'msg_0001', ...request })
}

const hex = '954170223fd5be8e03970efe3ecfb1cefe4d2b5a049e2b6cbe521380bf89f197'
const base64 = 'lUFwIj/Vvo4Dlw7+Ps+xzv5NK1oEnitsvlITgL+J8Zc='
const versioned = 'v0=1b0e49ad6233f18bc76d7c85a819c24764bccee2cf8719c3c54f4053f0acbb1d'

type Known = readonly [scheme: string, header: string, value: string, request: object]

const KNOWN: readonly Known[] = [
  ['github', 'X-Hub-Signature-256', `sha256=${hex}`, {}],
  ['mollie', 'X-Mollie-Signature', `sha256=${hex}`, {}],
  ['lemonsqueezy', 'X-Signature', hex, {}],
  ['razorpay', 'X-Razorpay-Signature', hex, {}],
  ['checkout', 'Cko-Signature', hex, {}],
  ['gocardless', 'Webhook-Signature', hex, {}],
  ['shopify', 'x-shopify-hmac-sha256', base64, {}],
  ['woocommerce', 'X-WC-Webhook-Signature', base64, {}],
  ['x', 'x-twitter-webhooks-signature', `sha256=${base64}`, {}],
  ['slack', 'X-Slack-Signature', versioned, {}],
  ['zoom', 'x-zm-signature', versioned, {}],
  [
    'square',
    'x-square-hmacsha256-signature',
    'LB8lehz5lb+3Lnk/oXPjMYF64GC10GVkOd0odaisopM=',
    { settings: { publicUrl: 'https://example.com/api/webhooks/square' } },
  ],
  [
    'paddle',
    'Paddle-Signature',
    'ts=1760000000;h1=5d725b4fd4b3a85801df564613f3dc4442735ba89f6a6c4f5171976f08389b8d',
    {},
  ],
  [
    'twilio',
    'X-Twilio-Signature',
    'zGN1YW6LqGD6FrPl6+w7mIVIaMM=',
    {
      body: Buffer.from(form),
      settings: { publicUrl: 'https://example.com/api/webhooks/twilio?tenant=a' },
    },
  ],
  [
    'twilio',
    'X-Twilio-Signature',
    '3B48Zs7MmjaEPJRn4lL7Y2ygGNg=',
    { settings: { publicUrl: 'https://example.com/api/webhooks/twilio' } },
  ],
  ['adyen-platform', 'HmacSignature', 'PkBqMmqKEfLXaWdRKWHb8q2UYyLfLD6psDHMK8ZuiZ0=', { secret: key.toString('hex') }],
  [
    'discord',
    'X-Signature-Ed25519',
    '320ff064ffd84cc82598729dac6ff8c25d12cf18b8d368bd383fa03cc47556c0f54735e15b50b5e24eb9a62cb801d9f7d040dfe0ff02349391f06284e2853a0b',
    { secret: toPem(key) },
  ],
  [
    'standard-webhooks',
    'webhook-signature',
    'v1a,Fj4gOiNn/eCJdGHrYPA5QLR26vQKM0CxLNoag6sU54tDc62bWnD02xNmnObLOs4w7I02ZEmxoHZbM1ZXVD/uCQ==',
    {
      secret: `whsk_${Buffer.concat([key, Buffer.from('A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=', 'base64')]).toString('base64')}`,
    },
  ],
]

describe('every signer', () => {
  it.each(KNOWN.map(([scheme, header, value, request]) => ({ scheme, header, value, request })))(
    'gives for $scheme in $header the value that other implementations give',
    ({ scheme, header, value, request }) => {
      expect(sign(scheme, request).headers).toContainEqual([header, value])
    },
  )

  it('returns for an item of adyen the value that other implementations return', () => {
    const item = {
      pspReference: '7914073381342284',
      merchantAccountCode: 'TestMerchant',
      merchantReference: 'order_0001',
      amount: { value: 1130, currency: 'EUR' },
      eventCode: 'AUTHORISATION',
      success: 'true',
    }
    const source = Buffer.from(JSON.stringify({ notificationItems: [{ NotificationRequestItem: item }] }))
    const sealed = sign('adyen', { body: source, secret: key.toString('hex') })
    expect(sealed.headers).toEqual([])
    expect(Buffer.from(sealed.body).toString()).toContain('E8U6TS+BMtnUL6ExMAhkKYJJhPUM5eCKXZSaWOSnYdU=')
  })

  it.each([
    ['square', {}, 'publicUrl'],
    ['paypal', { settings: { webhookId: '1' } }, 'private key (rsa)'],
    ['discord', {}, 'private key (ed25519)'],
    ['adyen', { body: Buffer.from('{"notificationItems":[]}') }, 'hexadecimal'],
    ['braintree', {}, 'public key, a colon'],
    ['standard-webhooks', { secret: 'whsk_AAAA' }, '64 bytes'],
  ])('says what is missing for %s, and never what was given: %j', (scheme, request, message) => {
    expect(() => sign(scheme, request)).toThrow(message)
    expect(() => sign(scheme, request)).not.toThrow(/test_secret|AAAA/)
  })
})
