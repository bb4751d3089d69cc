import { z } from 'zod'
import { jsonReader } from '../../events/event-reader.ts'
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
 * connected accounts also gets their test events, with the same signature, so `livemode` decides.
 */
export const stripe = defineScheme(
  'stripe',
  { testMode: z.boolean().optional() },
  {
    ...listSignature({ header: 'stripe-signature', separator: ',', time: 't', signature: 'v1', between: '.' }),
    redelivery: { hours: 720, source: 'docs.stripe.com/webhooks: resending by hand for 30 days' },
    permits: { ...PAYMENTS, expect: ({ testMode }) => ({ '/livemode': testMode !== true }), origin: ['/account'] },
    prepareReader: jsonReader(TYPES, (body) => findPlainEvent(body, { amountMembers, toIsoUnits: isoUnitsOfStripe })),
  },
)

/**
 * The amount of a payment or charge, or the total of a checkout session or a paid invoice. A failed payment has an
 * `amount_received` of 0, so the requested amount counts.
 */
function amountMembers(type: string): readonly string[] {
  return type === 'payment.failed' ? ['amount'] : ['amount_received', 'amount', 'amount_total', 'amount_paid']
}

/** Where Stripe's minor units differ from ISO 4217 (docs.stripe.com/currencies#special-cases): decimals of both. */
const DECIMALS = { ISK: [2, 0], MGA: [0, 2], UGX: [2, 0] } as const

/** The minor units, by ISO 4217, of an amount from Stripe; null if the currency does not have such a fraction. */
export function isoUnitsOfStripe(units: number, currency: unknown): number | null {
  return isoUnits(units, { currency, decimals: DECIMALS })
}
