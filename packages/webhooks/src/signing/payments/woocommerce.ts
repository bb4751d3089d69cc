import { createHash } from 'node:crypto'
import { toDecimal } from '@oncehook/kernel/money/currencies'
import { bodyMac } from '../body-mac.ts'
import type { PaymentTypes } from '../payment-event.ts'
import { jsonSigner, type SchemeEvent } from '../scheme-event.ts'

const types: PaymentTypes = { succeeded: 'order.processing', failed: 'order.failed' }
const signBody = bodyMac({ header: 'X-WC-Webhook-Signature', encoding: 'base64' })

/**
 * WooCommerce (developer.woocommerce.com, "Webhooks"): HMAC-SHA256 of the body in base64. The event is an order of the
 * shop; its status and payment date are the result.
 */
export const woocommerce = jsonSigner(types, toBody, {
  paymentIdOf: ({ orderId }) => orderId,
  sign: (request) => [
    ['X-WC-Webhook-Source', 'https://shop.example/'],
    ['X-WC-Webhook-Topic', 'order.updated'],
    ['X-WC-Webhook-Resource', 'order'],
    ['X-WC-Webhook-Event', 'updated'],
    ...signBody(request),
    ['X-WC-Webhook-ID', '3'],
    [
      'X-WC-Webhook-Delivery-ID',
      createHash('md5')
        .update(request.eventId ?? '')
        .digest('hex'),
    ],
  ],
})

function toBody({ type, ...event }: SchemeEvent): object {
  // WooCommerce writes UTC without a time zone.
  const at = event.at.slice(0, 19)
  return {
    id: event.orderId,
    order_key: `wc_order_${event.paymentId}`,
    created_via: 'checkout',
    status: type.replace(/^order\./, ''),
    currency: event.currency,
    date_created_gmt: at,
    date_modified_gmt: at,
    total: toDecimal(event.amount, event.currency),
    payment_method: 'stripe',
    transaction_id: event.paymentId,
    date_paid_gmt: type === types.succeeded ? at : null,
    line_items: [],
  }
}
