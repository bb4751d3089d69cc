import { resolvePointer } from './json-pointer.ts'
import { minorUnitsOfText } from './money.ts'
import { PAYMENTS } from './permits.ts'
import { readStrictObject } from './read-event.ts'
import { UNDOCUMENTED } from './redelivery.ts'
import { defineScheme } from './scheme.ts'
import { signedBody } from './signed-body.ts'
import { toEvent } from './to-event.ts'

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
