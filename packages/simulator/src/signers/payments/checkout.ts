import { type PaymentEvent, type PaymentTypes, toSchemeType } from '../../payment-event.ts'
import { bodyMac } from '../body-mac.ts'
import type { Signer } from '../signer.ts'
import { writeJson } from '../write-json.ts'

const types: PaymentTypes = { succeeded: 'payment_captured', failed: 'payment_declined' }

/** Checkout.com (checkout.com/docs, "Webhooks"): HMAC-SHA256 of the body in hexadecimal in `Cko-Signature`. */
export const checkout: Signer = {
  types,
  settings: [],
  writeEvent,
  sign: bodyMac({ header: 'Cko-Signature', encoding: 'hex' }),
}

function writeEvent(event: PaymentEvent): Uint8Array {
  const type = toSchemeType(types, event.type)
  const at = new Date(event.occurredAt).toISOString()
  const declined = type === types.failed
  const data = {
    id: event.paymentId,
    action_id: `act_${event.id}`,
    reference: event.orderId,
    amount: event.amount,
    currency: event.currency,
    response_code: declined ? '20005' : '10000',
    response_summary: declined ? 'Declined - Do Not Honour' : 'Approved',
    processed_on: at,
  }
  return writeJson({ id: event.id, type, version: '1.0.0', created_on: at, data, _links: {} })
}
