import { toDecimal } from '@oncehook/kernel/money/currencies'
import { bodyMac } from '../body-mac.ts'
import { type PaymentEvent, type PaymentTypes, toSchemeType } from '../payment-event.ts'
import { jsonSigner, type SchemeEvent } from '../scheme-event.ts'
import type { Signer } from '../signer.ts'

const newerTypes: PaymentTypes = { succeeded: 'payment.paid', failed: 'payment.failed' }

/**
 * Mollie's newer webhooks (docs.mollie.com/reference/webhooks-new), with the full payload: HMAC-SHA256 of the body in
 * hexadecimal in `X-Mollie-Signature`.
 */
export const mollie = jsonSigner(newerTypes, toBody, {
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

const classicTypes: PaymentTypes = { succeeded: 'payment.paid', failed: 'payment.expired' }

/**
 * Mollie's classic webhooks (docs.mollie.com/reference/webhooks): a form with only the payment id. Nothing is signed, so the
 * gateway queries the payment. A failed payment can be retried; only an expired one is final.
 */
export const mollieClassic: Signer = {
  types: classicTypes,
  settings: [],
  signsNothing: true,
  contentType: 'application/x-www-form-urlencoded',
  writeEvent: (event) => Buffer.from(new URLSearchParams({ id: idOf(event) }).toString()),
  paymentIdOf: idOf,
  sign: () => [],
  describeObject(event) {
    const status = toSchemeType(classicTypes, event.type) === classicTypes.failed ? 'expired' : 'paid'
    return { path: `/payments/${idOf(event)}`, body: writeMolliePayment({ ...event, paymentId: idOf(event) }, status) }
  },
}

function idOf({ paymentId }: Pick<PaymentEvent, 'paymentId'>): string {
  return paymentId.startsWith('tr_') ? paymentId : `tr_${paymentId.replace(/[^A-Za-z0-9]/g, '')}`
}

/** A payment as Mollie's API shows it (docs.mollie.com/reference/get-payment). */
function writeMolliePayment(event: PaymentEvent, status: string): object {
  const at = new Date(event.occurredAt).toISOString()
  return {
    resource: 'payment',
    id: event.paymentId,
    mode: 'test',
    createdAt: at,
    amount: { value: toDecimal(event.amount, event.currency), currency: event.currency },
    description: `Order ${event.orderId}`,
    method: 'ideal',
    metadata: { order_id: event.orderId },
    status,
    [`${status}At`]: at,
  }
}
