import { sign } from 'node:crypto'
import type { PaymentTypes } from '../payment-event.ts'
import { readPrivateKey } from '../private-key.ts'
import { jsonSigner, mapToPayments, type SchemeEvent } from '../scheme-event.ts'
import { toSeconds } from '../signer.ts'

const types: PaymentTypes = { succeeded: 'ENTITLEMENT_CREATE', failed: 'ENTITLEMENT_DELETE' }

/**
 * Discord (docs.discord.com, "Webhook events"): Ed25519 in hexadecimal over the timestamp followed by the body. The
 * secret is the PEM private key. The event is an entitlement, which is a purchased item.
 */
export const discord = jsonSigner(types, toBody, {
  needsPrivateKey: true,
  mapping: mapToPayments(types, '/event/data/sku_id'),
  sign({ body, secret, now }) {
    const timestamp = toSeconds(now)
    const signed = Buffer.concat([Buffer.from(timestamp), body])
    return [
      ['X-Signature-Ed25519', sign(null, signed, readPrivateKey(secret, 'ed25519')).toString('hex')],
      ['X-Signature-Timestamp', timestamp],
    ]
  },
})

function toBody(event: SchemeEvent): object {
  const data = {
    id: event.paymentId,
    sku_id: event.orderId,
    application_id: '1200000000000000001',
    user_id: '1200000000000000002',
    type: 8,
    deleted: false,
    consumed: false,
  }
  return {
    version: 1,
    application_id: '1200000000000000001',
    type: 1,
    event: { type: event.type, timestamp: event.at, data },
  }
}
