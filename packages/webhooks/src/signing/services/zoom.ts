import type { PaymentTypes } from '../payment-event.ts'
import { jsonSigner, mapToPayments, type SchemeEvent } from '../scheme-event.ts'
import { signVersioned } from '../versioned-mac.ts'

const types: PaymentTypes = { succeeded: 'webinar.registration_created', failed: 'webinar.registration_cancelled' }

/**
 * Zoom (developers.zoom.us/docs/api/webhooks): HMAC-SHA256 in hexadecimal over `v0:`, time, colon and body. The event is
 * the registration for a webinar, paid or not.
 */
export const zoom = jsonSigner(types, toBody, {
  mapping: mapToPayments(types, '/payload/object/registrant/id'),
  sign: signVersioned('x-zm-signature', 'x-zm-request-timestamp'),
})

function toBody(event: SchemeEvent): object {
  return {
    event: event.type,
    event_ts: Math.floor(event.occurredAt),
    payload: {
      account_id: 'oncehook',
      object: {
        id: event.paymentId,
        uuid: event.id,
        topic: 'A webinar',
        type: 5,
        registrant: { id: event.orderId, email: 'customer@example.com' },
      },
    },
  }
}
