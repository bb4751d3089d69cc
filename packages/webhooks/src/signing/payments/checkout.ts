import { bodyMac } from '../body-mac.ts'
import type { PaymentTypes } from '../payment-event.ts'
import { toUnitsOf } from '../provider-units.ts'
import { jsonSigner, type SchemeEvent } from '../scheme-event.ts'

const types: PaymentTypes = { succeeded: 'payment_captured', failed: 'payment_declined' }

/** Checkout.com (checkout.com/docs, "Webhooks"): HMAC-SHA256 of the body in hexadecimal in `Cko-Signature`. */
export const checkout = jsonSigner(types, toBody, {
  sign: bodyMac({ header: 'Cko-Signature', encoding: 'hex' }),
})

function toBody({ id, type, failed, at, ...event }: SchemeEvent): object {
  const data = {
    id: event.paymentId,
    action_id: `act_${id}`,
    reference: event.orderId,
    amount: toUnitsOf('Checkout.com', event.amount, event.currency),
    currency: event.currency,
    response_code: failed ? '20005' : '10000',
    response_summary: failed ? 'Declined - Do Not Honour' : 'Approved',
    processed_on: at,
  }
  return { id, type, version: '1.0.0', created_on: at, data, _links: {} }
}
