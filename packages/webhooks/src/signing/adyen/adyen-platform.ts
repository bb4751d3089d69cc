import { createHmac } from 'node:crypto'
import type { PaymentTypes } from '../payment-event.ts'
import { toUnitsOf } from '../provider-units.ts'
import { jsonSigner, type SchemeEvent } from '../scheme-event.ts'
import { readHexSecret } from '../secret-bytes.ts'

const transfer = 'balancePlatform.transfer.updated'
const types: PaymentTypes = { succeeded: `${transfer}.booked`, failed: `${transfer}.failed` }

/**
 * Adyen's platform and management webhooks (docs.adyen.com, "Verify HMAC signatures"): HMAC-SHA256 of the body in base64
 * in `HmacSignature`; the secret is hexadecimal. The event is a transfer.
 */
export const adyenPlatform = jsonSigner(types, toBody, {
  mapping: { events: { [types.succeeded]: 'payment.succeeded', [types.failed]: 'payment.failed' } },
  sign: ({ body, secret }) => [
    ['HmacSignature', createHmac('sha256', readHexSecret(secret)).update(body).digest('base64')],
    ['Protocol', 'HmacSHA256'],
  ],
})

function toBody(event: SchemeEvent): object {
  const isTransfer = event.type.startsWith(`${transfer}.`)
  const data = {
    accountHolder: { id: 'AH00000000000000000000001' },
    amount: { currency: event.currency, value: toUnitsOf('Adyen', event.amount, event.currency) },
    balancePlatform: 'Oncehook',
    category: 'bank',
    direction: 'incoming',
    id: event.paymentId,
    reference: event.orderId,
    status: isTransfer ? event.type.slice(transfer.length + 1) : 'received',
    type: 'bankTransfer',
  }
  return { data, environment: 'test', timestamp: event.at, type: isTransfer ? transfer : event.type }
}
