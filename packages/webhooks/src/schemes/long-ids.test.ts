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
      const pointed = { scheme: 'standard-webhooks', shape: 'standard', orderReference: '/data/order_id' }
      expect(orderOf(pointed, standard)).toBe(number)
    },
  )
})
