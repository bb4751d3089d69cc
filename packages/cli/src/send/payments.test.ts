import { hmac } from '@oncehook/webhooks/signing/generic/hmac'
import { shopify } from '@oncehook/webhooks/signing/payments/shopify'
import { stripe } from '@oncehook/webhooks/signing/payments/stripe'
import { discord } from '@oncehook/webhooks/signing/services/discord'
import { signers } from '@oncehook/webhooks/signing/signers'
import { describe, expect, it } from 'vitest'
import type { Order } from './orders.ts'
import { planPayment, toEffect } from './payments.ts'
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
  const complete: SendOptions = {
    count: 1,
    times: 1,
    batch: 1,
    orderOfArrival: 'given',
    skew: 0,
    timeout: 10,
    ...options,
  }
  const context = {
    randomId: () => 'r4nd0m',
    now: () => 1_760_000_000_000,
    signer: options.scheme === 'shopify' ? shopify : hmac,
  }
  return planPayment({ order, created: false }, complete, context)
}

describe('planPayment', () => {
  it('plans a payment of the order’s amount, under new ids', () => {
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

  it('uses another amount on request', () => {
    expect(plan({ amount: 5, currency: 'USD' }).events).toMatchObject([{ amount: 5, currency: 'USD' }])
  })

  it('returns the same events for the same order and event id', () => {
    expect(plan({ eventId: 'evt_demo' })).toEqual(plan({ eventId: 'evt_demo' }))
    expect(plan({ eventId: 'evt_demo' }).events).toMatchObject([{ occurredAt: Date.parse(order.createdAt) }])
    expect(plan({ eventId: 'evt_demo' }).paymentId).toBe('pay_demo')
    expect(plan({ eventId: 'x', paymentId: 'y' }).paymentId).toBe('y')
  })

  it('names the payment as the provider would', () => {
    expect(plan({ scheme: 'shopify' })).toMatchObject({ paymentId: 'ord_1', events: [{ paymentId: 'ord_1' }] })
  })

  it('plans several events of one payment, each with its own id', () => {
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
    expect(toEffect(types, { signer: hmac, settings: {} })).toBe(effect)
  })

  it('knows the names that only one scheme has', () => {
    expect(toEffect(['payment_intent.succeeded'], { signer: stripe, settings: {} })).toBe('paid')
    expect(toEffect(['payment.failed'], { signer: stripe, settings: {} })).toBe('payment_failed')
    expect(toEffect(['payment_intent.succeeded'], { signer: hmac, settings: {} })).toBe('none')
  })

  it('of a type that the scheme maps itself needs no settings, if only its other type does', () => {
    const paystack = signers.get('paystack')
    if (paystack === undefined) throw new Error('There is no signer of paystack')
    const sender = { signer: paystack, settings: { scheme: 'paystack' } }
    expect(toEffect(['payment.succeeded'], sender)).toBe('paid')
    expect(toEffect(['payment.failed'], sender)).toBe('none')
  })

  it('of a scheme without payments depends on the settings of the gateway', () => {
    const effect = (settings: object) => toEffect(['payment.succeeded'], { signer: discord, settings: { ...settings } })
    expect(effect({ scheme: 'discord', ...discord.mapping })).toBe('paid')
    expect(effect({ scheme: 'discord', ...discord.mapping, read: undefined })).toBe('none')
    expect(effect({ scheme: 'discord', ...discord.mapping, events: {} })).toBe('none')
    // Of a gateway elsewhere nothing is known.
    expect(effect({})).toBe('paid')
  })
})
