import { createHmac } from 'node:crypto'
import { toUuid } from '../made-ids.ts'
import type { PaymentTypes } from '../payment-event.ts'
import { jsonSigner, type SchemeEvent } from '../scheme-event.ts'
import { readTextSetting, SigningError } from '../signer.ts'

const updated = 'payment.updated'
const types: PaymentTypes = { succeeded: `${updated}.COMPLETED`, failed: `${updated}.FAILED` }

/**
 * Square (developer.squareup.com, "Validate notifications"): HMAC-SHA256 in base64 over the URL configured at Square
 * and the body. The setting `publicUrl` is that URL.
 */
export const square = jsonSigner(types, toBody, {
  settings: ['publicUrl'],
  sign({ body, secret, settings }) {
    const url = readTextSetting(settings, 'publicUrl')
    if (!url) throw new SigningError('The setting publicUrl is missing: Square signs the URL of the receiver')
    return [
      ['x-square-hmacsha256-signature', createHmac('sha256', secret).update(url).update(body).digest('base64')],
      ['square-environment', 'Sandbox'],
    ]
  },
})

function toBody({ type, at, ...event }: SchemeEvent): object {
  const isPayment = type.startsWith(`${updated}.`)
  const money = { amount: event.amount, currency: event.currency }
  const payment = {
    id: event.paymentId,
    status: isPayment ? type.slice(updated.length + 1) : 'PENDING',
    amount_money: money,
    total_money: money,
    reference_id: event.orderId,
    source_type: 'CARD',
    created_at: at,
    updated_at: at,
    version: 3,
  }
  return {
    merchant_id: 'M_ONCEHOOK',
    type: isPayment ? updated : type,
    event_id: toUuid(event.id),
    created_at: at,
    data: { type: 'payment', id: event.paymentId, object: { payment } },
  }
}
