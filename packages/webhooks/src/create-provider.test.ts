import { Webhook as StandardWebhook } from 'standardwebhooks'
import Stripe from 'stripe'
import { Webhook as SvixWebhook } from 'svix'
import { describe, expect, it } from 'vitest'
import type { Delivery } from './delivery.ts'
import { makeProvider } from './testing/make-provider.ts'
import { readVectorFiles } from './testing/vectors.ts'

const files = readVectorFiles()

const now = 1_760_000_000_000
const body = Buffer.from(
  '{"id":"evt_0001","type":"payment.succeeded","data":{"object":{"id":"pay_0001","note":"café 10 €"}}}',
)
const whsec = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8='

function deliver(rawBody: Buffer, headers: Readonly<Record<string, string>>): Delivery {
  return { rawBody, rawHeaders: Object.entries(headers).flat(), query: '' }
}

describe('createProvider', () => {
  it.each(files)('has at least 25 deliveries that $scheme refuses', ({ cases }) => {
    expect(cases.filter(({ verdict }) => verdict === 'refused').length).toBeGreaterThanOrEqual(25)
  })

  describe('with the official libraries', () => {
    const seconds = now / 1000
    const changed = Buffer.from(body)
    changed[30] = (changed[30] ?? 0) ^ 1

    it('accepts what stripe signs, and refuses it with one byte changed', () => {
      const provider = makeProvider({ settings: { scheme: 'stripe' }, secrets: [{ value: 'whsec_test_secret' }] })
      const webhooks = new Stripe('sk_test_unused').webhooks
      const header = webhooks.generateTestHeaderString({
        payload: body.toString(),
        secret: 'whsec_test_secret',
        timestamp: seconds,
      })
      expect(provider.verify(deliver(body, { 'stripe-signature': header }), now, fetch)).toHaveProperty('secretId')
      expect(provider.verify(deliver(changed, { 'stripe-signature': header }), now, fetch)).toEqual({
        refused: 'signature_mismatch',
      })
    })

    it.each([
      ['standardwebhooks', new StandardWebhook(whsec), 'webhook'],
      ['svix', new SvixWebhook(whsec), 'svix'],
    ] as const)('accepts what %s signs, and refuses it with one byte changed', (_, library, family) => {
      const provider = makeProvider({ settings: { scheme: 'standard-webhooks' }, secrets: [{ value: whsec }] })
      const headers = {
        [`${family}-id`]: 'msg_0001',
        [`${family}-timestamp`]: String(seconds),
        [`${family}-signature`]: library.sign('msg_0001', new Date(now), body.toString()),
      }
      expect(provider.verify(deliver(body, headers), now, fetch)).toMatchObject({
        secretId: 's1',
        signedId: 'msg_0001',
      })
      expect(provider.verify(deliver(changed, headers), now, fetch)).toEqual({ refused: 'signature_mismatch' })
    })
  })

  describe('with several secrets', () => {
    const signedWith = (secret: string) =>
      deliver(body, {
        'stripe-signature': new Stripe('sk_test_unused').webhooks.generateTestHeaderString({
          payload: body.toString(),
          secret,
          timestamp: now / 1000,
        }),
      })
    const secrets = [
      { value: 'whsec_the_new_secret' },
      { value: 'whsec_the_old_secret', notAfter: new Date(now + 1).toISOString() },
    ]

    it('reports which one signed', () => {
      const provider = makeProvider({ settings: { scheme: 'stripe' }, secrets })
      expect(provider.verify(signedWith('whsec_the_new_secret'), now, fetch)).toMatchObject({ secretId: 's1' })
      expect(provider.verify(signedWith('whsec_the_old_secret'), now, fetch)).toMatchObject({ secretId: 's2' })
    })

    it('accepts an old one until it expires, and the new one afterwards', () => {
      const provider = makeProvider({ settings: { scheme: 'stripe' }, secrets })
      expect(provider.verify(signedWith('whsec_the_old_secret'), now + 1, fetch)).toEqual({
        refused: 'signature_mismatch',
      })
      expect(provider.verify(signedWith('whsec_the_new_secret'), now + 1, fetch)).toMatchObject({ secretId: 's1' })
    })
  })
})
