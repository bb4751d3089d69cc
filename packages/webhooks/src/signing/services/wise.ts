import { sign } from 'node:crypto'
import { toNumber } from '../made-ids.ts'
import type { PaymentTypes } from '../payment-event.ts'
import { readPrivateKey } from '../private-key.ts'
import { jsonSigner, mapToPayments, type SchemeEvent } from '../scheme-event.ts'

const types: PaymentTypes = {
  succeeded: 'transfers#state-change.outgoing_payment_sent',
  failed: 'transfers#state-change.funds_refunded',
}

/**
 * Wise (docs.wise.com, "Event handling"): RSA with SHA-256 over the body, in base64. The secret is the PEM private key. A transfer
 * carries no reference, so the order is its profile.
 */
export const wise = jsonSigner(types, toBody, {
  needsPrivateKey: true,
  mapping: mapToPayments(types, '/data/resource/profile_id'),
  paymentIdOf: ({ paymentId }) => String(toNumber(paymentId)),
  sign: ({ body, secret }) => [
    ['X-Signature-SHA256', sign('sha256', body, readPrivateKey(secret, 'rsa')).toString('base64')],
  ],
})

function toBody({ type, paymentId, orderId, at }: SchemeEvent): object {
  const end = type.lastIndexOf('.') === -1 ? type.length : type.lastIndexOf('.')
  return {
    data: {
      resource: { type: 'transfer', id: toNumber(paymentId), profile_id: orderId, account_id: 333 },
      ...(end === type.length ? {} : { current_state: type.slice(end + 1) }),
      previous_state: 'processing',
      occurred_at: at,
    },
    subscription_id: '01234567-89ab-cdef-0123-456789abcdef',
    event_type: type.slice(0, end),
    schema_version: '4.0.0',
    sent_at: at,
  }
}
