import { hmac } from '@oncehook/webhooks/signing/generic/hmac'
import { shopify } from '@oncehook/webhooks/signing/payments/shopify'
import { stripe } from '@oncehook/webhooks/signing/payments/stripe'
import { discord } from '@oncehook/webhooks/signing/services/discord'
import { describe, expect, it } from 'vitest'
import type { Order } from './orders.ts'
import { planPayment, toEffect } from './payments.ts'

const createdAt = '2026-01-01T00:00:00.000Z'
const amounts = { amountDue: 1999, currency: 'EUR', payment: null }
const order: Order = { id: 'ord_1', version: 1, status: 'pending', access: 'locked', ...amounts, createdAt }

function plan(eventId: string | undefined, signer = hmac) {
  const context = { randomId: () => 'r4nd0m', now: () => 1_760_000_000_000, signer }
  return planPayment({ order, created: false }, { type: 'succeeded', ...(eventId && { eventId }) }, context)
}

describe('planPayment', () => {
  it('plans a payment of the order’s amount, under new ids or for the given event always the same', () => {
    const event = { type: 'payment.succeeded', orderId: 'ord_1', amount: 1999, currency: 'EUR' }
    expect(plan(undefined)).toMatchObject({ event: { id: 'evt_r4nd0m', ...event, occurredAt: 1_760_000_000_000 } })
    expect(plan('evt_demo')).toMatchObject({ paymentId: 'pay_demo', event: { occurredAt: Date.parse(createdAt) } })
  })

  it('names the payment as the provider would', () => {
    expect(plan(undefined, shopify)).toMatchObject({ paymentId: 'ord_1', event: { paymentId: 'ord_1' } })
  })
})

it.each([
  ['succeeded', hmac, {}, 'paid'],
  ['failed', stripe, {}, 'payment_failed'],
  ['payment_intent.succeeded', stripe, {}, 'paid'],
  ['payment_intent.succeeded', hmac, {}, 'none'],
  // A scheme without payments: as the gateway maps it, and of a gateway elsewhere nothing is known.
  ['succeeded', discord, { scheme: 'discord', ...discord.mapping }, 'paid'],
  ['succeeded', discord, { scheme: 'discord', ...discord.mapping, events: {} }, 'none'],
  ['succeeded', discord, {}, 'paid'],
])('an event %s has the effect that its scheme and its mapping give it', (type, signer, settings, effect) => {
  expect(toEffect(type, { signer, settings: { ...settings } })).toBe(effect)
})
