import { describe, expect, it } from 'vitest'
import type { VerifiedDelivery } from '../../delivery.ts'
import { eventInvalid } from '../../errors.ts'
import type { WebhookEvent } from '../../event.ts'
import { makeProvider, onlyEvent } from '../../testing/make-provider.ts'

const secrets = [{ value: 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=' }]

function read(body: object, settings: object, signedId = 'msg_0001'): WebhookEvent {
  const provider = makeProvider({ settings: { scheme: 'standard-webhooks', ...settings }, secrets })
  const rawBody = Buffer.from(JSON.stringify(body))
  return onlyEvent(provider.readEvents({ rawBody, secretId: 's1', signedId } as VerifiedDelivery))
}

describe('standardWebhooks', () => {
  it('reads our own shape, whatever the id in the header', () => {
    const body = { id: 'evt_1', type: 'payment.succeeded', data: { object: { id: 'pay_1', order_id: 'ord_1' } } }
    expect(read(body, {})).toMatchObject({ id: 'evt_1', objectId: 'pay_1', facts: { orderId: 'ord_1' } })
  })

  describe('with the shape of the specification', () => {
    const settings = { shape: 'standard' }
    const body = {
      type: 'payment.succeeded',
      timestamp: '2026-01-01T00:00:00.000000Z',
      data: { id: 'pay_1', amount: 1999, currency: 'EUR', order_id: 'ord_0001' },
    }

    it('reads the id from the signed header and the object from data', () => {
      expect(read(body, settings)).toEqual({
        id: 'msg_0001',
        type: 'payment.succeeded',
        objectId: 'pay_1',
        facts: { orderId: 'ord_0001', amount: 1999, currency: 'EUR', occurredAt: '2026-01-01T00:00:00.000Z' },
      })
    })

    it('does not take an id in the body for the signed one', () => {
      expect(read({ id: 'evt_of_the_body', ...body }, settings).id).toBe('msg_0001')
    })

    it('refuses a signed id that is longer than an id of an event can be', () => {
      expect(read(body, settings, 'x'.repeat(255)).id).toHaveLength(255)
      const long = () => read(body, settings, 'x'.repeat(256))
      expect(long).toThrow(expect.objectContaining({ code: eventInvalid.code }))
    })

    it('finds the order at the pointer of the settings in the original body', () => {
      const ours = { ...body, data: { id: 'pay_1', cart: 'c_7' } }
      expect(read(ours, { ...settings, orderReference: '/data/cart' }).facts.orderId).toBe('c_7')
    })

    it.each([[{}], [null], ['pay_1'], [['pay_1']], [{ object: { id: 'pay_1' } }]])('refuses %j as data', (data) => {
      expect(() => read({ ...body, data }, settings)).toThrow(expect.objectContaining({ code: eventInvalid.code }))
    })
  })
})
