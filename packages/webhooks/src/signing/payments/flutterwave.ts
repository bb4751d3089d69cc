import { toDecimal } from '@oncehook/kernel/money/currencies'
import { toNumber } from '../made-ids.ts'
import type { PaymentTypes } from '../payment-event.ts'
import { jsonSigner, type SchemeEvent, toSchemeEvent } from '../scheme-event.ts'

const charge = 'charge.completed'
const types: PaymentTypes = { succeeded: `${charge}.successful`, failed: `${charge}.failed` }

/**
 * Flutterwave, version 3 (developer.flutterwave.com/v3.0/docs/webhooks): the secret itself in `verif-hash`. It signs
 * nothing, so the gateway queries the transaction.
 */
export const flutterwave = jsonSigner(types, toBody, {
  paymentIdOf: ({ paymentId }) => String(toNumber(paymentId)),
  sign: ({ secret }) => [['verif-hash', secret]],
  describeObject: (event) => ({
    path: `/transactions/${toNumber(event.paymentId)}/verify`,
    body: {
      status: 'success',
      message: 'Transaction fetched successfully',
      data: toTransaction(toSchemeEvent(event, types)),
    },
  }),
})

function toBody(event: SchemeEvent): object {
  return { event: nameOf(event.type), data: toTransaction(event) }
}

function nameOf(type: string): string {
  return type.startsWith(`${charge}.`) ? charge : type
}

function toTransaction(event: SchemeEvent): object {
  return {
    id: toNumber(event.paymentId),
    tx_ref: event.orderId,
    flw_ref: `FLW-${event.paymentId}`,
    amount: Number(toDecimal(event.amount, event.currency)),
    currency: event.currency,
    status: event.failed ? 'failed' : 'successful',
    payment_type: 'card',
    created_at: event.at,
  }
}
