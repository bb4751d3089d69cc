import { bodyMac } from '../body-mac.ts'
import type { PaymentTypes } from '../payment-event.ts'
import { jsonSigner, type SchemeEvent } from '../scheme-event.ts'

const types: PaymentTypes = { succeeded: 'payment.captured', failed: 'payment.failed' }
const signBody = bodyMac({ header: 'X-Razorpay-Signature', encoding: 'hex' })

/**
 * Razorpay (razorpay.com/docs/webhooks/validate-test): HMAC-SHA256 of the body in hexadecimal. The id of the event is in a
 * header that is not signed.
 */
export const razorpay = jsonSigner(types, toBody, {
  sign: (request) => [...signBody(request), ['x-razorpay-event-id', request.eventId ?? 'simulated']],
})

function toBody({ type, failed, seconds, ...event }: SchemeEvent): object {
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
    created_at: seconds,
  }
  const payload = { payment: { entity } }
  return {
    entity: 'event',
    account_id: 'acc_oncehook',
    event: type,
    contains: ['payment'],
    payload,
    created_at: seconds,
  }
}
