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
  ['mollie', 'X-Mollie-Signature', `sha256=${hex}`, {}],
  ['lemonsqueezy', 'X-Signature', hex, {}],
  ['checkout', 'Cko-Signature', hex, {}],
  ['woocommerce', 'X-WC-Webhook-Signature', base64, {}],
  ['x', 'x-twitter-webhooks-signature', `sha256=${base64}`, {}],
  ['zoom', 'x-zm-signature', versioned, {}],
  [
    'twilio',
    'X-Twilio-Signature',
    '3B48Zs7MmjaEPJRn4lL7Y2ygGNg=',
    { settings: { publicUrl: 'https://example.com/api/webhooks/twilio' } },
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
