import { describe, expect, it } from 'vitest'
import type { WebhookEvent } from '../event.ts'
import { makeProvider, onlyEvent } from '../testing/make-provider.ts'
import type { VerifiedDelivery } from './delivery.ts'

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
  it('reads a payment intent that succeeded, its amount from what was received', () => {
    const event = {
      id: 'evt_1A',
      object: 'event',
      api_version: '2026-06-30',
      created: 1_760_000_000,
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

  it('reads a payment intent that failed, its amount from what was asked for', () => {
    const object = { ...intent, amount: 1999, amount_received: 0 }
    expect(read({ id: 'evt_1B', type: 'payment_intent.payment_failed', data: { object } })).toMatchObject({
      type: 'payment.failed',
      facts: { amount: 1999 },
    })
  })

  it('takes the amount asked for where nothing says what was received', () => {
    const object = { ...intent, amount: 1999 }
    expect(read({ id: 'evt_1', type: 'payment_intent.succeeded', data: { object } }).facts.amount).toBe(1999)
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

  it('finds the order where the settings point', () => {
    const body = {
      id: 'evt_1',
      type: 'payment_intent.succeeded',
      data: { object: { ...intent, metadata: { cart: 'c_7' } } },
    }
    expect(read(body, { orderReference: '/data/object/metadata/cart' }).facts.orderId).toBe('c_7')
  })
})
