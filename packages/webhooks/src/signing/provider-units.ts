import { SigningError } from './signer.ts'

/** Minor units of a provider per minor unit of ISO 4217, where they differ. */
const FACTORS = {
  /** docs.adyen.com/development-resources/currency-codes */
  Adyen: { CLP: 100, CVE: 1 / 100, IDR: 1 / 100, ISK: 100 },
  /** docs.stripe.com/currencies#special-cases */
  Stripe: { ISK: 100, MGA: 1 / 100, UGX: 100 },
} as const satisfies Record<string, Readonly<Record<string, number>>>

/**
 * Converts to the minor units of a provider.
 * @throws SigningError if its unit is too large for the amount
 */
export function toUnitsOf(provider: keyof typeof FACTORS, minorUnits: number, currency: string): number {
  const factor = new Map(Object.entries(FACTORS[provider])).get(currency) ?? 1
  const units = factor < 1 ? minorUnits / Math.round(1 / factor) : minorUnits * factor
  if (Number.isInteger(units)) return units
  throw new SigningError(`${provider} uses larger minor units for ${currency} and cannot express this amount`)
}
