import { createHmac } from 'node:crypto'
import { type PaymentEvent, type PaymentTypes, toSchemeType } from '../../payment-event.ts'
import { type Signer, toSeconds } from '../signer.ts'
import { writeJson } from '../write-json.ts'

const types: PaymentTypes = { succeeded: 'transaction.completed', failed: 'transaction.payment_failed' }

/** Paddle Billing (developer.paddle.com, "Signature verification"): HMAC-SHA256 in hexadecimal over time, colon and body. */
export const paddle: Signer = {
  types,
  settings: [],
  writeEvent,
  sign({ body, secret, now }) {
    const ts = toSeconds(now)
    const h1 = createHmac('sha256', secret).update(`${ts}:`).update(body).digest('hex')
    return [['Paddle-Signature', `ts=${ts};h1=${h1}`]]
  },
}

function writeEvent(event: PaymentEvent): Uint8Array {
  const type = toSchemeType(types, event.type)
  const total = String(event.amount)
  const failed = type === types.failed
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
  const at = new Date(event.occurredAt).toISOString()
  return writeJson({ event_id: event.id, event_type: type, occurred_at: at, notification_id: `ntf_${event.id}`, data })
}
