import { decimalsOf } from '@oncehook/kernel/money/currencies'

const CURRENCY = /^[A-Za-z]{3}$/
const DECIMAL = /^(\d{1,15})(?:\.(\d{1,6}))?$/

/**
 * The minor units of a decimal amount (`19.99` EUR is 1999, `500` JPY is 500), by exact arithmetic. Undefined if there is no
 * amount; null if it is not a decimal, has more decimals than the currency, or is beyond 2^53 - 1.
 */
export function minorUnits(decimal: unknown, currency: unknown): number | null | undefined {
  if (decimal === undefined || decimal === null) return undefined
  if (typeof currency !== 'string' || (typeof decimal !== 'string' && typeof decimal !== 'number')) return null
  const parts = DECIMAL.exec(String(decimal))
  if (!CURRENCY.test(currency) || parts === null) return null
  const decimals = decimalsOf(currency)
  const [, whole = '', fraction = ''] = parts
  const kept = fraction.slice(0, decimals).padEnd(decimals, '0')
  if (/[1-9]/.test(fraction.slice(decimals))) return null
  const units = Number(`${whole}${kept}`)
  return Number.isSafeInteger(units) ? units : null
}

/** The minor units of an amount that is an integer, or an integer as text (`"1999"`); undefined if there is none. */
export function minorUnitsOfText(text: unknown): number | null | undefined {
  if (text === undefined || text === null) return undefined
  const units = typeof text === 'string' && /^\d{1,16}$/.test(text) ? Number(text) : text
  return Number.isSafeInteger(units) ? (units as number) : null
}

/** Currencies in capitals whose minor units differ: the decimals of the provider, and those of ISO 4217. */
export type OtherDecimals = Readonly<Record<string, readonly [provider: number, iso: number]>>

/** The minor units, by ISO 4217, of an amount in a provider's minor units; null if the result is not an exact integer. */
export function isoUnits(
  units: number,
  { currency, decimals }: { readonly currency: unknown; readonly decimals: OtherDecimals },
): number | null {
  const code = typeof currency === 'string' ? currency.toUpperCase() : ''
  const [provider, iso] = (Object.hasOwn(decimals, code) ? decimals[code] : undefined) ?? [0, 0]
  const exact = provider > iso ? units / 10 ** (provider - iso) : units * 10 ** (iso - provider)
  return Number.isSafeInteger(exact) ? exact : null
}
