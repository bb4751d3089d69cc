import { describe, expect, it } from 'vitest'
import type { VerifiedDelivery } from '../../delivery.ts'
import type { WebhookEvent } from '../../event.ts'
import { makeProvider, onlyEvent } from '../../testing/make-provider.ts'

function read(body: object, settings: object = {}): WebhookEvent {
  const provider = makeProvider({
    settings: { scheme: 'stripe', ...settings },
    secrets: [{ value: 'whsec_test_secret' }],
  })
  return onlyEvent(
    provider.readEvents({ rawBody: Buffer.from(JSON.stringify(body)), secretId: 's1' } as VerifiedDelivery),
  )
}

const intent = { id: 'pi_1', object: 'payment_intent', currency: 'eur', metadata: { order_id: 'ord_1' } }

describe('stripe', () => {
  it('reads a successful payment intent with the received amount', () => {
    const event = {
      id: 'evt_1A',
      object: 'event',
      api_version: '2026-06-30',
      created: 1_760_000_000,
      livemode: true,
      type: 'payment_intent.succeeded',
      data: { object: { ...intent, amount: 2500, amount_received: 1999 } },
    }
    expect(read(event)).toEqual({
      id: 'evt_1A',
      type: 'payment.succeeded',
      objectId: 'pi_1',
      facts: { orderId: 'ord_1', amount: 1999, currency: 'EUR', occurredAt: '2025-10-09T08:53:20.000Z' },
    })
  })

  it('reads a failed payment intent with the requested amount', () => {
    const object = { ...intent, amount: 1999, amount_received: 0 }
    expect(read({ id: 'evt_1B', type: 'payment_intent.payment_failed', data: { object } })).toMatchObject({
      type: 'payment.failed',
      facts: { amount: 1999 },
    })
  })

  it('uses the requested amount if no received amount is given', () => {
    const object = { ...intent, amount: 1999 }
    expect(read({ id: 'evt_1', type: 'payment_intent.succeeded', data: { object } }).facts.amount).toBe(1999)
  })

  it.each([
    [
      'checkout.session.completed',
      { id: 'cs_1', object: 'checkout.session', amount_subtotal: 1500, amount_total: 1999 },
    ],
    ['invoice.paid', { id: 'in_1', object: 'invoice', amount_due: 2500, amount_paid: 1999 }],
  ])('reads the amount of %s that the settings map to a success', (type, members) => {
    const object = { currency: 'eur', metadata: { order_id: 'ord_1' }, ...members }
    const { facts } = read({ id: 'evt_1', type, data: { object } }, { events: { [type]: 'payment.succeeded' } })
    expect(facts).toMatchObject({ orderId: 'ord_1', amount: 1999, currency: 'EUR' })
  })

  it('reads a type that the settings map to a success like a success', () => {
    const body = {
      id: 'evt_1',
      type: 'charge.captured',
      data: { object: { ...intent, amount: 2500, amount_received: 1999 } },
    }
    expect(read(body, { events: { 'charge.captured': 'payment.succeeded' } })).toMatchObject({
      type: 'payment.succeeded',
      facts: { amount: 1999 },
    })
  })

  it('leaves every other type its name', () => {
    expect(read({ id: 'evt_1', type: 'payment_intent.created', data: { object: intent } }).type).toBe(
      'payment_intent.created',
    )
  })

  it('finds the order at the pointer of the settings', () => {
    const body = {
      id: 'evt_1',
      type: 'payment_intent.succeeded',
      data: { object: { ...intent, metadata: { cart: 'c_7' } } },
    }
    expect(read(body, { orderReference: '/data/object/metadata/cart' }).facts.orderId).toBe('c_7')
  })
})
