import { describe, expect, it } from 'vitest'
import { asVerified, makeProvider, onlyEvent } from '../../testing/make-provider.ts'

function orderOf(settings: { readonly scheme: string; readonly [name: string]: unknown }, body: string) {
  const provider = makeProvider({ settings, secrets: [{ value: 'the secret of a shop' }] })
  const delivery = { rawBody: Buffer.from(body), rawHeaders: [], query: '', secretId: 's1' }
  return onlyEvent(provider.readEvents(asVerified(delivery))).facts.orderId
}

const SHOPIFY = `{"id":5678901234567,"order_number":1042,"name":"#1042","financial_status":"paid","currency":"EUR","total_price":"19.99"}`
const WOOCOMMERCE = `{"id":4750,"number":"WEB-1042","order_key":"wc_order_x","status":"processing","currency":"EUR","total":"19.99","date_paid_gmt":"2026-01-01T00:00:04"}`

describe('an order of a shop that has an id and a number', () => {
  it.each([
    ['shopify', SHOPIFY, '5678901234567', '/order_number', '1042'],
    ['woocommerce', WOOCOMMERCE, '4750', '/number', 'WEB-1042'],
  ] as const)(
    'is found by its id at %s, or by its number if the settings say so',
    (...[scheme, body, id, pointer, number]) => {
      expect(orderOf({ scheme }, body)).toBe(id)
      expect(orderOf({ scheme, read: { order: pointer } }, body)).toBe(number)
    },
  )
})
