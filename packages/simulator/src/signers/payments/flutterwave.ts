import { toNumber } from '../../made-ids.ts'
import { toDecimal } from '../../money.ts'
import { type PaymentEvent, type PaymentTypes, toSchemeType } from '../../payment-event.ts'
import type { Signer } from '../signer.ts'
import { writeJson } from '../write-json.ts'

const charge = 'charge.completed'
const types: PaymentTypes = { succeeded: `${charge}.successful`, failed: `${charge}.failed` }

/**
 * Flutterwave, version 3 (developer.flutterwave.com/v3.0/docs/webhooks): the secret itself in `verif-hash`. It signs
 * nothing, so the gateway queries the transaction.
 */
export const flutterwave: Signer = {
  types,
  settings: [],
  writeEvent: (event) => writeJson({ event: nameOf(event), data: writeTransaction(event) }),
  paymentIdOf: ({ paymentId }) => String(toNumber(paymentId)),
  sign: ({ secret }) => [['verif-hash', secret]],
  describeObject: (event) => ({
    path: `/transactions/${toNumber(event.paymentId)}/verify`,
    body: { status: 'success', message: 'Transaction fetched successfully', data: writeTransaction(event) },
  }),
}

function nameOf(event: PaymentEvent): string {
  const type = toSchemeType(types, event.type)
  return type.startsWith(`${charge}.`) ? charge : type
}

function writeTransaction(event: PaymentEvent): object {
  return {
    id: toNumber(event.paymentId),
    tx_ref: event.orderId,
    flw_ref: `FLW-${event.paymentId}`,
    amount: Number(toDecimal(event.amount, event.currency)),
    currency: event.currency,
    status: toSchemeType(types, event.type) === types.failed ? 'failed' : 'successful',
    payment_type: 'card',
    created_at: new Date(event.occurredAt).toISOString(),
  }
}
