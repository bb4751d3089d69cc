import { describe, expect, it } from 'vitest'
import { asVerified, makeProvider, onlyEvent } from '../testing/make-provider.ts'

const value = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8='

function orderOf(
  settings: { readonly scheme: string; readonly [name: string]: unknown },
  body: string,
): string | undefined {
  const provider = makeProvider({ settings, secrets: [{ value }] })
  const delivery = { rawBody: Buffer.from(body), rawHeaders: [], query: '', secretId: 's1', signedId: 'msg_1' }
  return onlyEvent(provider.readEvents(asVerified(delivery))).facts.orderId
}

describe('the number of an order', () => {
  it.each(['1001', '9007199254740991', '9007199254740992', '9007199254740993', '123456789012345678901234567890'])(
    '%s stays as it was sent',
    (number) => {
      const body = `{"id":"evt_1","type":"t","data":{"object":{"id":"pay_1","metadata":{"order_id":${number}}}}}`
      expect(orderOf({ scheme: 'hmac', header: 'x-signature' }, body)).toBe(number)
      expect(orderOf({ scheme: 'stripe' }, body)).toBe(number)
      expect(orderOf({ scheme: 'standard-webhooks' }, body)).toBe(number)
      const standard = `{"type":"t","data":{"id":"pay_1","order_id":${number}}}`
      expect(orderOf({ scheme: 'standard-webhooks', shape: 'standard' }, standard)).toBe(number)
      const pointed = { scheme: 'standard-webhooks', shape: 'standard', read: { order: '/data/order_id' } }
      expect(orderOf(pointed, standard)).toBe(number)
    },
  )
})

describe('the number of an object', () => {
  it.each([
    ['Standard Webhooks', { scheme: 'standard-webhooks', shape: 'standard' }, '{"type":"t","data":{"id":N}}'],
    ['the plain shape', { scheme: 'standard-webhooks' }, '{"id":"evt_1","type":"t","data":{"object":{"id":N}}}'],
    ['an event with a number, too', { scheme: 'standard-webhooks' }, '{"id":N,"type":"t","data":{"object":{"id":N}}}'],
    ['Shopify', { scheme: 'shopify' }, '{"id":N,"financial_status":"paid","currency":"EUR","total_price":"19.99"}'],
    ['WooCommerce', { scheme: 'woocommerce' }, '{"id":N,"order_key":"k","status":"failed"}'],
    ['GitHub', { scheme: 'github' }, '{"issue":{"id":N}}'],
  ])('is exact beyond 2^53: %s', (_, settings, body) => {
    const number = '820982911946154508'
    const provider = makeProvider({ settings, secrets: [{ value }] })
    const rawBody = Buffer.from(body.replaceAll('N', number))
    const rawHeaders = ['x-github-event', 'issue']
    const event = onlyEvent(
      provider.readEvents(asVerified({ rawBody, rawHeaders, query: '', secretId: 's1', signedId: 'm' })),
    )
    expect(event.objectId).toBe(number)
  })
})
