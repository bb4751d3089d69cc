import { describe, expect, it } from 'vitest'
import type { VerifiedDelivery } from '../../delivery.ts'
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

    it('replaces a signed id that is longer than an id of an event can be by the hash of the bytes', () => {
      expect(read(body, settings, 'x'.repeat(255)).id).toHaveLength(255)
      expect(read(body, settings, 'x'.repeat(256)).id).toMatch(/^sha256:/)
    })

    it('finds the order at the pointer of the settings in the original body', () => {
      const ours = { ...body, data: { id: 'pay_1', cart: 'c_7' } }
      expect(read(ours, { ...settings, read: { order: '/data/cart' } }).facts.orderId).toBe('c_7')
    })

    it.each([[{}], [null], ['pay_1'], [['pay_1']], [{ object: { id: 'pay_1' } }]])(
      'does not refuse a payment with %j as data, and gives it no effect',
      (data) => expect(read({ ...body, data }, settings).facts.withheld).toBe('unreadable'),
    )

    it.each([
      ['Resend', { email_id: '56761188-7520-42d8-8898-ff6fc54ce618', to: ['d@example.com'] }, undefined],
      ['a number', { id: 12_345 }, '12345'],
      ['no object at all', undefined, undefined],
    ])('takes an event whose data names its object as %s does', (_, data, objectId) => {
      expect(read({ type: 'email.delivered', data }, settings)).toEqual({
        ...{ id: 'msg_0001', type: 'email.delivered', facts: { orderId: objectId ?? '' } },
        ...(objectId === undefined ? {} : { objectId }),
      })
    })
  })
})
