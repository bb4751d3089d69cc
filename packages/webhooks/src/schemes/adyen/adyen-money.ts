import { isoUnits, minorUnitsOfText } from '../../events/money.ts'
import { ADYEN_DECIMALS } from '../../presets/services.ts'

/** The minor units, by ISO 4217, of an amount from Adyen; null if it is invalid, undefined if there is none. */
export function minorUnitsOfAdyen(value: unknown, currency: unknown): number | null | undefined {
  const units = minorUnitsOfText(value)
  return typeof units === 'number' ? isoUnits(units, { currency, decimals: ADYEN_DECIMALS }) : units
}
