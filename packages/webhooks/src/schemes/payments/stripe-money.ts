import { isoUnits } from '../../events/money.ts'

/** Where Stripe's minor units differ from ISO 4217 (docs.stripe.com/currencies#special-cases): decimals of both. */
const DECIMALS = { ISK: [2, 0], MGA: [0, 2], UGX: [2, 0] } as const

/** The minor units, by ISO 4217, of an amount from Stripe; null if the currency does not have such a fraction. */
export function isoUnitsOfStripe(units: number, currency: unknown): number | null {
  return isoUnits(units, { currency, decimals: DECIMALS })
}
