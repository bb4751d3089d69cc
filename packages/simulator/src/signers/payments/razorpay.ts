import { type PaymentEvent, type PaymentTypes, toSchemeType } from '../../payment-event.ts'
import { bodyMac } from '../body-mac.ts'
import type { Signer } from '../signer.ts'
import { writeJson } from '../write-json.ts'

const types: PaymentTypes = { succeeded: 'payment.captured', failed: 'payment.failed' }
const signBody = bodyMac({ header: 'X-Razorpay-Signature', encoding: 'hex' })

/**
 * Razorpay (razorpay.com/docs/webhooks/validate-test): HMAC-SHA256 of the body in hexadecimal; the id of the event stands
 * in a header that nobody signs.
 */
export const razorpay: Signer = {
  types,
  settings: [],
  writeEvent,
  sign: (request) => [...signBody(request), ['x-razorpay-event-id', request.eventId ?? 'simulated']],
}

function writeEvent(event: PaymentEvent): Uint8Array {
  const type = toSchemeType(types, event.type)
  const at = Math.floor(event.occurredAt / 1000)
  const failed = type === types.failed
  const entity = {
    id: event.paymentId,
    entity: 'payment',
    amount: event.amount,
    currency: event.currency,
    status: failed ? 'failed' : 'captured',
    order_id: `order_${event.orderId}`,
    method: 'card',
    captured: !failed,
    notes: { order_id: event.orderId },
    error_code: failed ? 'BAD_REQUEST_ERROR' : null,
    created_at: at,
  }
  const payload = { payment: { entity } }
  return writeJson({
    entity: 'event',
    account_id: 'acc_oncehook',
    event: type,
    contains: ['payment'],
    payload,
    created_at: at,
  })
}
