import { jsonReader } from '../../events/event-reader.ts'
import { isoUnits, minorUnitsOfText } from '../../events/money.ts'
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
      amount: minorUnitsOfCheckout(at('/data/amount'), at('/data/currency')),
      currency: at('/data/currency'),
      occurredAt: body.created_on,
    })),
  },
)

/**
 * Where Checkout.com's minor units differ from ISO 4217: decimals of both. Every currency that its page names neither as
 * whole nor as thousandths counts in hundredths (checkout.com/docs/payments/accept-payments/format-the-amount-value).
 */
const DECIMALS = { CLF: [2, 4], CLP: [2, 0], UYI: [2, 0], UYW: [2, 4] } as const

/** The minor units, by ISO 4217, of an amount from Checkout.com; null if it is invalid, undefined if there is none. */
export function minorUnitsOfCheckout(value: unknown, currency: unknown): number | null | undefined {
  const units = minorUnitsOfText(value)
  return typeof units === 'number' ? isoUnits(units, { currency, decimals: DECIMALS }) : units
}
