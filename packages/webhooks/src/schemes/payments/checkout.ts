import { resolvePointer } from '../../events/json-pointer.ts'
import { minorUnitsOfText } from '../../events/money.ts'
import { PAYMENTS } from '../../events/permits.ts'
import { readStrictObject } from '../../events/read-event.ts'
import { toEvent } from '../../events/to-event.ts'
import { signedBody } from '../../signatures/signed-body.ts'
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
    ...signedBody({ algorithm: 'sha256', headers: ['cko-signature'], encoding: 'hex' }),
    redelivery: UNDOCUMENTED,
    permits: PAYMENTS,
    prepareReader:
      (settings) =>
      ({ rawBody }) => {
        const body = readStrictObject(rawBody, true)
        const data = (member: string): unknown => resolvePointer(body, `/data/${member}`)
        const found = {
          id: body.id,
          type: body.type,
          objectId: data('id'),
          orderId: data('reference'),
          amount: minorUnitsOfText(data('amount')),
          currency: data('currency'),
          occurredAt: body.created_on,
        }
        return [toEvent(found, { ...settings, types: TYPES, document: body })]
      },
  },
)
