import { type PaymentEvent, type PaymentTypes, toSchemeType } from '../payment-event.ts'
import type { Signer } from '../signer.ts'
import { writeMolliePayment } from './mollie-payment.ts'

const types: PaymentTypes = { succeeded: 'payment.paid', failed: 'payment.expired' }

/**
 * Mollie's classic webhooks (docs.mollie.com/reference/webhooks): a form with only the payment id. Nothing is signed, so the
 * gateway queries the payment. A failed payment can be retried; only an expired one is final.
 */
export const mollieClassic: Signer = {
  types,
  settings: [],
  signsNothing: true,
  contentType: 'application/x-www-form-urlencoded',
  writeEvent: (event) => Buffer.from(new URLSearchParams({ id: idOf(event) }).toString()),
  paymentIdOf: idOf,
  sign: () => [],
  describeObject(event) {
    const status = toSchemeType(types, event.type) === types.failed ? 'expired' : 'paid'
    return { path: `/payments/${idOf(event)}`, body: writeMolliePayment({ ...event, paymentId: idOf(event) }, status) }
  },
}

function idOf({ paymentId }: Pick<PaymentEvent, 'paymentId'>): string {
  return paymentId.startsWith('tr_') ? paymentId : `tr_${paymentId.replace(/[^A-Za-z0-9]/g, '')}`
}
