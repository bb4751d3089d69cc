import { Webhook } from 'standardwebhooks'
import Stripe from 'stripe'
import { describe, expect, it } from 'vitest'
import { corruptions, signCorrupted } from './corruption.ts'
import { standardWebhooks } from './signers/generic/standard-webhooks.ts'
import { stripe } from './signers/payments/stripe.ts'

const secret = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8='
const body = Buffer.from('{"id":"evt_1","type":"payment.succeeded","data":{"object":{"id":"pay_1"}}}')

describe('signCorrupted', () => {
  it.each(corruptions)('tampers with the %s so that the official libraries refuse it', (corruption) => {
    const request = { body, secret, now: Date.now(), eventId: 'evt_1' }
    const standard = signCorrupted(standardWebhooks, request, corruption)
    expect(() => new Webhook(secret).verify(Buffer.from(standard.body), Object.fromEntries(standard.headers))).toThrow(
      'No matching signature found',
    )
    const { headers, body: sent } = signCorrupted(stripe, request, corruption)
    expect(() =>
      new Stripe('sk_test_unused').webhooks.constructEvent(Buffer.from(sent), headers[0]![1], secret),
    ).toThrow(Stripe.errors.StripeSignatureVerificationError)
  })

  it('changes one bit of the body and keeps it text', () => {
    const tampered = signCorrupted(stripe, { body, secret, now: 0 }, 'body').body
    expect(tampered).toHaveLength(body.length)
    expect([...tampered].filter((byte, index) => byte !== body[index])).toHaveLength(1)
    expect(Buffer.from(tampered).toString()).not.toContain('\ufffd')
  })

  it('tampers with an empty body too', () => {
    expect(signCorrupted(stripe, { body: Buffer.alloc(0), secret, now: 0 }, 'body').body).toHaveLength(1)
  })
})
