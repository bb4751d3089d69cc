import { bodyMac } from '../body-mac.ts'
import type { PaymentTypes } from '../payment-event.ts'
import { jsonSigner, type SchemeEvent } from '../scheme-event.ts'
import { writeMolliePayment } from './mollie-payment.ts'

const types: PaymentTypes = { succeeded: 'payment.paid', failed: 'payment.failed' }

/**
 * Mollie's newer webhooks (docs.mollie.com/reference/webhooks-new), with the full payload: HMAC-SHA256 of the body in
 * hexadecimal in `X-Mollie-Signature`.
 */
export const mollie = jsonSigner(types, toBody, {
  sign: bodyMac({ header: 'X-Mollie-Signature', encoding: 'hex', prefix: 'sha256=' }),
})

function toBody(event: SchemeEvent): object {
  return {
    resource: 'event',
    id: event.id,
    type: event.type,
    entityId: event.paymentId,
    createdAt: event.at,
    _embedded: { entity: writeMolliePayment(event, event.failed ? 'failed' : 'paid') },
    _links: { self: { href: `https://api.mollie.com/v2/events/${event.id}`, type: 'application/hal+json' } },
  }
}
