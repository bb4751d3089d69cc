import { createHmac } from 'node:crypto'
import { toDecimal } from '@oncehook/kernel/currencies'
import type { PaymentTypes } from '../payment-event.ts'
import { jsonSigner, type SchemeEvent } from '../scheme-event.ts'

const types: PaymentTypes = { succeeded: 'PAYMENT_SUCCESS_WEBHOOK', failed: 'PAYMENT_FAILED_WEBHOOK' }

/**
 * Cashfree (cashfree.com/docs, "Webhooks: payloads and signatures"): HMAC-SHA256 in base64 over the timestamp, in
 * milliseconds, followed by the body.
 */
export const cashfree = jsonSigner(types, toBody, {
  sign({ body, secret, now }) {
    const timestamp = String(Math.floor(now))
    return [
      ['x-webhook-signature', createHmac('sha256', secret).update(timestamp).update(body).digest('base64')],
      ['x-webhook-timestamp', timestamp],
      ['x-webhook-version', '2025-01-01'],
    ]
  },
})

function toBody({ failed, at, ...event }: SchemeEvent): object {
  const amount = Number(toDecimal(event.amount, event.currency))
  const data = {
    order: { order_id: event.orderId, order_amount: amount, order_currency: event.currency, order_tags: null },
    payment: {
      cf_payment_id: event.paymentId,
      payment_status: failed ? 'FAILED' : 'SUCCESS',
      payment_amount: amount,
      payment_currency: event.currency,
      payment_message: failed ? 'Transaction failed' : '00::Transaction success',
      payment_time: at,
      payment_group: 'upi',
    },
    customer_details: { customer_id: 'cus_oncehook' },
    ...(failed ? { error_details: { error_code: 'TRANSACTION_DECLINED', error_source: 'bank' } } : {}),
  }
  return { data, event_time: at, type: event.type }
}
