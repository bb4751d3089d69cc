import { createHmac } from 'node:crypto'
import type { PaymentTypes } from '../payment-event.ts'
import { jsonSigner, type SchemeEvent } from '../scheme-event.ts'
import { toSeconds } from '../signer.ts'

const types: PaymentTypes = { succeeded: 'transaction.completed', failed: 'transaction.payment_failed' }

/** Paddle Billing (developer.paddle.com, "Signature verification"): HMAC-SHA256 in hexadecimal over time, colon and body. */
export const paddle = jsonSigner(types, toBody, {
  sign({ body, secret, now }) {
    const ts = toSeconds(now)
    const h1 = createHmac('sha256', secret).update(`${ts}:`).update(body).digest('hex')
    return [['Paddle-Signature', `ts=${ts};h1=${h1}`]]
  },
})

function toBody({ id, type, failed, at, ...event }: SchemeEvent): object {
  const total = String(event.amount)
  const data = {
    id: event.paymentId,
    status: failed ? 'ready' : 'completed',
    customer_id: 'ctm_oncehook',
    currency_code: event.currency,
    custom_data: { order_id: event.orderId },
    details: { totals: { subtotal: total, tax: '0', total, grand_total: total, currency_code: event.currency } },
    payments: [
      {
        status: failed ? 'error' : 'captured',
        error_code: failed ? 'declined' : null,
        amount: total,
        captured_at: null,
      },
    ],
  }
  return { event_id: id, event_type: type, occurred_at: at, notification_id: `ntf_${id}`, data }
}
