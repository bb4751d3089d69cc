import { isoUnits, minorUnitsOfText } from '../../events/money.ts'

/** Where Adyen's minor units differ from ISO 4217 (docs.adyen.com/development-resources/currency-codes): decimals of both. */
export const ADYEN_DECIMALS = { CLP: [2, 0], CVE: [0, 2], IDR: [0, 2], ISK: [2, 0] } as const

/** The minor units, by ISO 4217, of an amount from Adyen; null if it is invalid, undefined if there is none. */
export function minorUnitsOfAdyen(value: unknown, currency: unknown): number | null | undefined {
  const units = minorUnitsOfText(value)
  return typeof units === 'number' ? isoUnits(units, { currency, decimals: ADYEN_DECIMALS }) : units
}
