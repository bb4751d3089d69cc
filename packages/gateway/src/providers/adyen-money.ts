import { minorUnitsOfText } from './money.ts'

/** Where Adyen's minor units differ from ISO 4217 (docs.adyen.com/development-resources/currency-codes): decimals of both. */
const DECIMALS: Readonly<Record<string, readonly [adyen: number, iso: number]>> = {
  CLP: [2, 0],
  CVE: [0, 2],
  IDR: [0, 2],
  ISK: [2, 0],
}

/** The minor units, by ISO 4217, of an amount of Adyen's; null where it is none, undefined where there is none. */
export function minorUnitsOfAdyen(value: unknown, currency: unknown): number | null | undefined {
  const units = minorUnitsOfText(value)
  const decimals = typeof currency === 'string' && Object.hasOwn(DECIMALS, currency) ? DECIMALS[currency] : undefined
  if (typeof units !== 'number' || decimals === undefined) return units
  const [adyen, iso] = decimals
  const exact = adyen > iso ? units / 10 ** (adyen - iso) : units * 10 ** (iso - adyen)
  return Number.isSafeInteger(exact) ? exact : null
}
