import { SigningError } from './signer.ts'

/** How much larger Adyen's number is than that of ISO 4217 (docs.adyen.com/development-resources/currency-codes). */
const factors = new Map([
  ['CLP', 100],
  ['ISK', 100],
  ['CVE', 1 / 100],
  ['IDR', 1 / 100],
])

/**
 * Minor units as Adyen counts them.
 * @throws SigningError when it has none small enough
 */
export function toAdyenUnits(minorUnits: number, currency: string): number {
  const units = minorUnits * (factors.get(currency) ?? 1)
  if (Number.isInteger(units)) return units
  throw new SigningError(`Adyen counts ${currency} in larger units: it cannot name this amount`)
}
