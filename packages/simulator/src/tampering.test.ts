import { standardWebhooks } from '@oncehook/webhooks/signing/generic/standard-webhooks'
import { stripe } from '@oncehook/webhooks/signing/payments/stripe'
import { Webhook } from 'standardwebhooks'
import Stripe from 'stripe'
import { describe, expect, it } from 'vitest'
import { signTampered, tamperedParts } from './tampering.ts'

const secret = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8='
const body = Buffer.from('{"id":"evt_1","type":"payment.succeeded","data":{"object":{"id":"pay_1"}}}')

describe('signTampered', () => {
  it.each(tamperedParts)('tampers with the %s so that the official libraries refuse it', (tampered) => {
    const request = { body, secret, now: Date.now(), eventId: 'evt_1' }
    const standard = signTampered(standardWebhooks, request, tampered)
    expect(() => new Webhook(secret).verify(Buffer.from(standard.body), Object.fromEntries(standard.headers))).toThrow(
      'No matching signature found',
    )
    const { headers, body: sent } = signTampered(stripe, request, tampered)
    expect(() =>
      new Stripe('sk_test_unused').webhooks.constructEvent(Buffer.from(sent), headers[0]![1], secret),
    ).toThrow(Stripe.errors.StripeSignatureVerificationError)
  })

  it('changes one bit of the body and keeps it text', () => {
    const tampered = signTampered(stripe, { body, secret, now: 0 }, 'body').body
    expect(tampered).toHaveLength(body.length)
    expect([...tampered].filter((byte, index) => byte !== body[index])).toHaveLength(1)
    expect(Buffer.from(tampered).toString()).not.toContain('\ufffd')
  })
})
