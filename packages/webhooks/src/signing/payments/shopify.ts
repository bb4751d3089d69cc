import { createHmac } from 'node:crypto'
import { toDecimal } from '@oncehook/kernel/money/currencies'
import { readJson } from '../json-body.ts'
import { toUuid } from '../made-ids.ts'
import type { PaymentTypes } from '../payment-event.ts'
import { jsonSigner, type SchemeEvent } from '../scheme-event.ts'
import { readTextSetting, type SigningRequest } from '../signer.ts'

const paid = 'orders/paid'
const failedSale = 'order_transactions/create.sale.failure'
const types: PaymentTypes = { succeeded: paid, failed: failedSale }

/**
 * Shopify (shopify.dev, "Verify deliveries"): HMAC-SHA256 of the body in base64. The names of the headers begin with
 * `x-shopify-`; with the setting `headerPrefix` `shopify-` as those of its newer Events. A paid order is a success, a
 * failed sale a failure.
 */
export const shopify = jsonSigner(types, toBody, {
  settings: ['headerPrefix'],
  // A paid order contains no payment id, so the event is about Shopify's order.
  paymentIdOf: ({ orderId }) => orderId,
  sign: signShopify,
})

function signShopify({ body, secret, eventId = 'simulated', settings }: SigningRequest): [string, string][] {
  const prefix = readTextSetting(settings, 'headerPrefix') ?? 'x-shopify-'
  const topic = readJson(body).kind === undefined ? paid : 'order_transactions/create'
  return [
    [`${prefix}hmac-sha256`, createHmac('sha256', secret).update(body).digest('base64')],
    [`${prefix}topic`, topic],
    [`${prefix}shop-domain`, 'oncehook.myshopify.com'],
    [`${prefix}api-version`, '2026-07'],
    [`${prefix}webhook-id`, toUuid(eventId)],
  ]
}

function toBody({ type, failed, at, ...event }: SchemeEvent): object {
  const amount = toDecimal(event.amount, event.currency)
  if (failed) {
    return {
      id: event.paymentId,
      order_id: event.orderId,
      kind: 'sale',
      gateway: 'bogus',
      status: 'failure',
      message: 'Card declined',
      created_at: at,
      test: true,
      amount,
      currency: event.currency,
      error_code: 'card_declined',
    }
  }
  return {
    id: event.orderId,
    name: '#1001',
    created_at: at,
    updated_at: at,
    currency: event.currency,
    // Other topics are known only by name.
    financial_status: type === paid ? 'paid' : 'pending',
    total_price: amount,
    current_total_price: amount,
    source_identifier: event.paymentId,
    line_items: [],
  }
}
