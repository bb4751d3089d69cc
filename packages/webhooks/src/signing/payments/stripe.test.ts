import Stripe from 'stripe'
import { describe, expect, it } from 'vitest'
import { SAMPLE_PAYMENT } from '../../testing/sample-payment.ts'
import { stripe } from './stripe.ts'

const sdk = new Stripe('sk_test_unused')
const secret = 'whsec_test_secret'
const event = { ...SAMPLE_PAYMENT, occurredAt: 1_760_000_000_123 }

describe('stripe', () => {
  it('gives the signature that other implementations give', () => {
    const body = Buffer.from(
      '{"id":"evt_0001","type":"payment.succeeded","data":{"object":{"id":"pay_0001","note":"café 10 €"}}}',
    )
    expect(stripe.sign({ body, secret, now: 1_760_000_000_000 })).toEqual([
      ['stripe-signature', 't=1760000000,v1=a34aa3d9a65afc219132646c23329f95dc1208c066855aebd9bb7d2c0fd0f158'],
    ])
  })

  it('is accepted by the official library, until a byte changes', () => {
    const body = Buffer.from(stripe.writeEvent(event))
    const [line] = stripe.sign({ body, secret, now: Date.now() })
    expect(sdk.webhooks.constructEvent(body, line![1], secret)).toMatchObject({ id: 'evt_1', object: 'event' })
    const changed = Buffer.from(body.toString().replace('1999', '1998'))
    expect(() => sdk.webhooks.constructEvent(changed, line![1], secret)).toThrow()
  })
})
