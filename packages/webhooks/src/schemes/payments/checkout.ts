import { jsonReader } from '../../events/event-reader.ts'
import { minorUnitsOfText } from '../../events/money.ts'
import { PAYMENTS } from '../../events/permits.ts'
import { bodySignature } from '../../signatures/body-signature.ts'
import { UNDOCUMENTED } from '../redelivery.ts'
import { defineScheme } from '../scheme.ts'

const TYPES = {
  payment_captured: 'payment.succeeded',
  payment_declined: 'payment.failed',
  payment_capture_declined: 'payment.failed',
  payment_canceled: 'payment.failed',
  payment_expired: 'payment.failed',
} as const

/**
 * Checkout.com (checkout.com/docs/developer-resources/webhooks): HMAC-SHA256 of the body in hexadecimal in
 * `Cko-Signature`. It signs no time. A payment counts when it is captured; `payment_approved` is only the authorisation.
 */
export const checkout = defineScheme(
  'checkout',
  {},
  {
    ...bodySignature({ algorithm: 'sha256', headers: ['cko-signature'], encoding: 'hex' }),
    redelivery: UNDOCUMENTED,
    permits: PAYMENTS,
    prepareReader: jsonReader(TYPES, (body, at) => ({
      id: body.id,
      type: body.type,
      objectId: at('/data/id'),
      orderId: at('/data/reference'),
      amount: minorUnitsOfText(at('/data/amount')),
      currency: at('/data/currency'),
      occurredAt: body.created_on,
    })),
  },
)
