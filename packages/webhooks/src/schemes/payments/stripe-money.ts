// What is paid at Stripe, and how much.
import { isObject } from '../../events/json-object.ts'
import { isoUnits } from '../../events/money.ts'

/**
 * The state of an object that is not paid, whatever the type of its event: a session of a customer who pays later by bank
 * (docs.stripe.com/checkout/fulfillment), a charge that is only authorised or still pending
 * (docs.stripe.com/payments/place-a-hold-on-a-payment-method), an invoice that is open.
 */
export function unpaidStateOf(object: unknown): 'unpaid' | 'uncaptured' | undefined {
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
export function amountMembers(type: string, unpaid: string | undefined): readonly string[] {
  if (type === 'payment.failed' || unpaid === 'uncaptured') return ['amount']
  return ['amount_received', 'amount_captured', 'amount', 'amount_total', 'amount_paid']
}

/** Where Stripe's minor units differ from ISO 4217 (docs.stripe.com/currencies#special-cases): decimals of both. */
export const STRIPE_DECIMALS = { ISK: [2, 0], MGA: [0, 2], UGX: [2, 0] } as const

/** The minor units, by ISO 4217, of an amount from Stripe; null if the currency does not have such a fraction. */
export function isoUnitsOfStripe(units: number, currency: unknown): number | null {
  return isoUnits(units, { currency, decimals: STRIPE_DECIMALS })
}
