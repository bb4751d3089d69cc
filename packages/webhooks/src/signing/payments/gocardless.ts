import { bodyMac } from '../body-mac.ts'
import { writeJson } from '../json-body.ts'
import type { PaymentEvent, PaymentTypes } from '../payment-event.ts'
import { toSchemeEvent } from '../scheme-event.ts'
import type { Signer } from '../signer.ts'

const types: PaymentTypes = { succeeded: 'payments.confirmed', failed: 'payments.failed' }

/**
 * GoCardless (developer.gocardless.com, "Staying up to date with webhooks"): HMAC-SHA256 of the body in hexadecimal in
 * `Webhook-Signature`. The event has no amount.
 */
export const gocardless: Signer = {
  types,
  settings: [],
  writeEvent: (event) => writeEvents([event]),
  batch: { most: 1_000, writeEvents },
  sign: bodyMac({ header: 'Webhook-Signature', encoding: 'hex' }),
}

function writeEvents(events: readonly PaymentEvent[]): Uint8Array {
  return writeJson({ events: events.map(toItem), meta: { webhook_id: `WB_${events[0]?.id}` } })
}

function toItem(event: PaymentEvent): object {
  const { type, failed, at } = toSchemeEvent(event, types)
  const [resource = '', action = ''] = type.split('.')
  const details = failed
    ? {
        origin: 'bank',
        cause: 'insufficient_funds',
        scheme: 'sepa_core',
        reason_code: 'AM04',
        will_attempt_retry: false,
      }
    : { origin: 'gocardless', cause: `payment_${action}`, description: 'Payment was confirmed as collected' }
  return {
    id: event.id,
    created_at: at,
    resource_type: resource,
    action,
    links: { [resource.replace(/s$/, '')]: event.paymentId },
    details,
    metadata: {},
    resource_metadata: { order_id: event.orderId },
  }
}
