import { bodyMac } from '../body-mac.ts'
import { toNumber, toUuid } from '../made-ids.ts'
import type { PaymentTypes } from '../payment-event.ts'
import { jsonSigner, mapToPayments, type SchemeEvent } from '../scheme-event.ts'

const types: PaymentTypes = { succeeded: 'follow.follow', failed: 'follow.unfollow' }

/**
 * X (docs.x.com/x-api/webhooks): HMAC-SHA256 of the body in base64 behind `sha256=`, keyed with the consumer secret. The
 * event is an account activity. The tag of the subscription is the order id.
 */
export const x = jsonSigner(types, toBody, {
  mapping: mapToPayments(types, '/data/tag'),
  paymentIdOf: ({ paymentId }) => String(toNumber(paymentId)),
  sign: bodyMac({ header: 'x-twitter-webhooks-signature', encoding: 'base64', prefix: 'sha256=' }),
})

function toBody(event: SchemeEvent): object {
  return {
    data: {
      filter: { user_id: String(toNumber(event.paymentId)) },
      event_uuid: toUuid(event.id),
      event_type: event.type,
      tag: event.orderId,
      payload: { source: { id: '1' }, target: { id: '2' } },
    },
  }
}
