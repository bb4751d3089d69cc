import { SigningError } from '../signer.ts'

/** Adyen's minor units per ISO 4217 minor unit (docs.adyen.com/development-resources/currency-codes). */
const factors = new Map([
  ['CLP', 100],
  ['ISK', 100],
  ['CVE', 1 / 100],
  ['IDR', 1 / 100],
])

/**
 * Converts to Adyen's minor units.
 * @throws SigningError if Adyen's unit is too large for the amount
 */
export function toAdyenUnits(minorUnits: number, currency: string): number {
  const units = minorUnits * (factors.get(currency) ?? 1)
  if (Number.isInteger(units)) return units
  throw new SigningError(`Adyen uses larger minor units for ${currency} and cannot express this amount`)
}
