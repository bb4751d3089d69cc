import { type PaymentEvent, type PaymentTypes, toSchemeType } from '../../payment-event.ts'
import { bodyMac } from '../body-mac.ts'
import { writeMolliePayment } from './mollie-payment.ts'
import type { Signer } from '../signer.ts'
import { writeJson } from '../write-json.ts'

const types: PaymentTypes = { succeeded: 'payment.paid', failed: 'payment.failed' }

/**
 * Mollie's newer webhooks (docs.mollie.com/reference/webhooks-new), with the full payload: HMAC-SHA256 of the body in
 * hexadecimal in `X-Mollie-Signature`.
 */
export const mollie: Signer = {
  types,
  settings: [],
  writeEvent,
  sign: bodyMac({ header: 'X-Mollie-Signature', encoding: 'hex', prefix: 'sha256=' }),
}

function writeEvent(event: PaymentEvent): Uint8Array {
  const type = toSchemeType(types, event.type)
  return writeJson({
    resource: 'event',
    id: event.id,
    type,
    entityId: event.paymentId,
    createdAt: new Date(event.occurredAt).toISOString(),
    _embedded: { entity: writeMolliePayment(event, type === types.failed ? 'failed' : 'paid') },
    _links: { self: { href: `https://api.mollie.com/v2/events/${event.id}`, type: 'application/hal+json' } },
  })
}
