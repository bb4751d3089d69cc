import { createHmac } from 'node:crypto'
import { toDecimal } from '@oncehook/kernel/money/currencies'
import { readJson } from '../json-body.ts'
import { toNumber, toUuid } from '../made-ids.ts'
import type { PaymentTypes } from '../payment-event.ts'
import { jsonSigner, type SchemeEvent, toSchemeEvent } from '../scheme-event.ts'
import { SigningError, toSeconds } from '../signer.ts'

const types: PaymentTypes = { succeeded: 'payment.approved', failed: 'payment.rejected' }

/**
 * Mercado Pago (mercadopago.com/developers, "Webhooks"): HMAC-SHA256 in hexadecimal over the `data.id` of the query, the
 * request id and the time. The body is not signed, so the gateway queries the payment.
 */
export const mercadopago = jsonSigner(types, toBody, {
  paymentIdOf: ({ paymentId }) => String(toNumber(paymentId)),
  query: ({ body }) => `data.id=${dataIdOf(body)}&type=payment`,
  sign({ body, secret, now, eventId }) {
    const requestId = toUuid(eventId ?? 'simulated')
    const ts = toSeconds(now)
    const text = `id:${dataIdOf(body)};request-id:${requestId};ts:${ts};`
    return [
      ['x-signature', `ts=${ts},v1=${createHmac('sha256', secret).update(text).digest('hex')}`],
      ['x-request-id', requestId],
    ]
  },
  describeObject: (event) => ({
    path: `/v1/payments/${toNumber(event.paymentId)}`,
    body: toPayment(toSchemeEvent(event, types)),
  }),
})

function dataIdOf(body: Uint8Array): string {
  const { data } = readJson(body)
  const id: unknown = typeof data === 'object' && data !== null && 'id' in data ? data.id : undefined
  if (typeof id !== 'string' || !/^[A-Za-z0-9]+$/.test(id)) {
    throw new SigningError('Mercado Pago signs the payment id, but the body has none in data.id')
  }
  return id
}

function toBody(event: SchemeEvent): object {
  return {
    id: toNumber(event.id),
    live_mode: false,
    type: 'payment',
    date_created: event.at,
    user_id: 1,
    api_version: 'v1',
    action: 'payment.updated',
    data: { id: String(toNumber(event.paymentId)) },
  }
}

function toPayment({ failed, at, ...event }: SchemeEvent): object {
  return {
    id: toNumber(event.paymentId),
    status: failed ? 'rejected' : 'approved',
    status_detail: failed ? 'cc_rejected_other_reason' : 'accredited',
    external_reference: event.orderId,
    transaction_amount: Number(toDecimal(event.amount, event.currency)),
    currency_id: event.currency,
    live_mode: false,
    date_created: at,
    date_last_updated: at,
    date_approved: failed ? null : at,
  }
}
