import { hmac } from '@oncehook/simulator/signers/hmac'
import { stripe } from '@oncehook/simulator/signers/stripe'
import { describe, expect, it } from 'vitest'
import type { Order } from '../orders-client.ts'
import { planPayment, toEffect } from './plan-payment.ts'
import type { SendOptions } from './send-options.ts'

const order: Order = {
  id: 'ord_1',
  version: 1,
  status: 'pending',
  access: 'locked',
  amountDue: 1999,
  currency: 'EUR',
  payment: null,
  createdAt: '2026-01-01T00:00:00.000Z',
}

function plan(options: Partial<SendOptions>) {
  const complete: SendOptions = { count: 1, times: 1, orderOfArrival: 'given', skew: 0, timeout: 10, ...options }
  return planPayment({ order, created: false }, complete, { randomId: () => 'r4nd0m', now: () => 1_760_000_000_000 })
}

describe('planPayment', () => {
  it('tells of a payment of what the order costs, under ids of its own', () => {
    expect(plan({})).toMatchObject({
      paymentId: 'pay_r4nd0m',
      events: [
        {
          id: 'evt_r4nd0m',
          type: 'payment.succeeded',
          orderId: 'ord_1',
          amount: 1999,
          currency: 'EUR',
          occurredAt: 1_760_000_000_000,
        },
      ],
    })
  })

  it('takes another sum when it is told to', () => {
    expect(plan({ amount: 5, currency: 'USD' }).events).toMatchObject([{ amount: 5, currency: 'USD' }])
  })

  it('gives the same events for the same order and event id', () => {
    expect(plan({ eventId: 'evt_demo' })).toEqual(plan({ eventId: 'evt_demo' }))
    expect(plan({ eventId: 'evt_demo' }).events).toMatchObject([{ occurredAt: Date.parse(order.createdAt) }])
    expect(plan({ eventId: 'evt_demo' }).paymentId).toBe('pay_demo')
    expect(plan({ eventId: 'x', paymentId: 'y' }).paymentId).toBe('y')
  })

  it('tells several things of one payment, each by an event of its own', () => {
    const { events } = plan({ eventId: 'evt_1', sequence: ['failed', 'succeeded', 'refund.created'] })
    expect(events.map(({ id, type }) => [id, type])).toEqual([
      ['evt_1_1', 'payment.failed'],
      ['evt_1_2', 'payment.succeeded'],
      ['evt_1_3', 'refund.created'],
    ])
    expect(new Set(events.map(({ paymentId }) => paymentId)).size).toBe(1)
  })
})

describe('toEffect', () => {
  it.each([
    [['payment.succeeded'], 'paid'],
    [['payment.succeeded', 'payment.failed'], 'paid'],
    [['payment.failed', 'refund.created'], 'payment_failed'],
    [['refund.created'], 'none'],
    [[], 'none'],
  ])('says that %j makes an order %s', (types, effect) => {
    expect(toEffect(types, hmac)).toBe(effect)
  })

  it('knows the names that a scheme has of its own', () => {
    expect(toEffect(['payment_intent.succeeded'], stripe)).toBe('paid')
    expect(toEffect(['payment.failed'], stripe)).toBe('payment_failed')
    expect(toEffect(['payment_intent.succeeded'], hmac)).toBe('none')
  })
})
