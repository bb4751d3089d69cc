import { z } from 'zod'
import { jsonReader } from '../../events/event-reader.ts'
import { isObject } from '../../events/json-object.ts'
import { isoUnits } from '../../events/money.ts'
import { PAYMENTS } from '../../events/permits.ts'
import { findPlainEvent } from '../../events/plain-event.ts'
import { listSignature } from '../../signatures/list-signature.ts'
import { defineScheme } from '../scheme.ts'

const TYPES = {
  'payment_intent.succeeded': 'payment.succeeded',
  'payment_intent.payment_failed': 'payment.failed',
} as const

/**
 * Stripe (docs.stripe.com/webhooks/signature): HMAC-SHA256 in hexadecimal over timestamp, full stop and body; the key
 * is the whole `whsec_` text. Only `v1` counts; `v0` and unknown items are ignored. A live endpoint for
 * connected accounts also gets their test events, with the same signature, so `livemode` decides. A thin event
 * (docs.stripe.com/event-destinations) has `related_object` instead of `data`, and `created` as ISO 8601.
 */
export const stripe = defineScheme(
  'stripe',
  { testMode: z.boolean().optional() },
  {
    ...listSignature({ header: 'stripe-signature', separator: ',', time: 't', signature: 'v1', between: '.' }),
    redelivery: { hours: 720, source: 'docs.stripe.com/webhooks: resending by hand for 30 days' },
    permits: { ...PAYMENTS, expect: ({ testMode }) => ({ '/livemode': testMode !== true }), origin: ['/account'] },
    prepareReader: jsonReader(TYPES, (body, at) => {
      const unpaid = unpaidStateOf(at('/data/object'))
      const membersOf = (type: string): readonly string[] => amountMembers(type, unpaid)
      const plain = findPlainEvent(body, { amountMembers: membersOf, toIsoUnits: isoUnitsOfStripe })
      // A thin event names its object only.
      const found = { ...plain, objectId: plain.objectId ?? at('/related_object/id') }
      return unpaid === undefined ? found : { ...found, unpaid }
    }),
  },
)

/**
 * The state of an object that is not paid, whatever the type of its event: a session of a customer who pays later by bank
 * (docs.stripe.com/checkout/fulfillment), a charge that is only authorised or still pending
 * (docs.stripe.com/payments/place-a-hold-on-a-payment-method), an invoice that is open.
 */
function unpaidStateOf(object: unknown): 'unpaid' | 'uncaptured' | undefined {
  if (!isObject(object)) return undefined
  const { object: kind, payment_status: payment, captured, paid, status } = object
  if (kind === 'checkout.session') return payment === 'unpaid' ? 'unpaid' : undefined
  if (kind === 'invoice') return typeof status === 'string' && status !== 'paid' ? 'unpaid' : undefined
  if (kind !== 'charge') return undefined
  if (captured === false) return 'uncaptured'
  return paid === false ? 'unpaid' : undefined
}

/**
 * The amount of a payment or charge, or the total of a checkout session or a paid invoice. Of a failed payment nothing was
 * received, and of an uncaptured charge nothing was captured, so the requested amount counts.
 */
function amountMembers(type: string, unpaid: string | undefined): readonly string[] {
  if (type === 'payment.failed' || unpaid === 'uncaptured') return ['amount']
  return ['amount_received', 'amount_captured', 'amount', 'amount_total', 'amount_paid']
}

/** Where Stripe's minor units differ from ISO 4217 (docs.stripe.com/currencies#special-cases): decimals of both. */
const DECIMALS = { ISK: [2, 0], MGA: [0, 2], UGX: [2, 0] } as const

/** The minor units, by ISO 4217, of an amount from Stripe; null if the currency does not have such a fraction. */
export function isoUnitsOfStripe(units: number, currency: unknown): number | null {
  return isoUnits(units, { currency, decimals: DECIMALS })
}
