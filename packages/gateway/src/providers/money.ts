// ISO 4217, list one of 2026: what does not have two decimals. Intl knows what is usual in print instead (HUF: none).
const DECIMALS: Readonly<Record<string, number>> = {
  ...Object.fromEntries(
    'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'.split(' ').map((code) => [code, 0]),
  ),
  ...Object.fromEntries('BHD IQD JOD KWD LYD OMR TND'.split(' ').map((code) => [code, 3])),
  ...{ CLF: 4, UYW: 4 },
}

/** How many decimals the minor unit of a currency has, null for what can be no currency. */
function decimalsOf(currency: string): number | null {
  return /^[A-Za-z]{3}$/.test(currency) ? (DECIMALS[currency.toUpperCase()] ?? 2) : null
}

const DECIMAL = /^(\d{1,15})(?:\.(\d{1,6}))?$/

/**
 * The minor units of an amount that is written as a decimal (`19.99` EUR is 1999, `500` JPY is 500), by exact
 * arithmetic. Null where it is no such amount, has more decimals than the currency, or is beyond 2^53 - 1; undefined
 * where there is none.
 */
export function minorUnits(decimal: unknown, currency: unknown): number | null | undefined {
  if (decimal === undefined || decimal === null) return undefined
  if (typeof currency !== 'string' || (typeof decimal !== 'string' && typeof decimal !== 'number')) return null
  const decimals = decimalsOf(currency)
  const parts = DECIMAL.exec(String(decimal))
  if (decimals === null || parts === null) return null
  const [, whole = '', fraction = ''] = parts
  const kept = fraction.slice(0, decimals).padEnd(decimals, '0')
  if (/[1-9]/.test(fraction.slice(decimals))) return null
  const units = Number(`${whole}${kept}`)
  return Number.isSafeInteger(units) ? units : null
}

/** The minor units of an amount that is written as an integer in text (`"1999"`), or is one; undefined where there is none. */
export function minorUnitsOfText(text: unknown): number | null | undefined {
  if (text === undefined || text === null) return undefined
  const units = typeof text === 'string' && /^\d{1,16}$/.test(text) ? Number(text) : text
  return Number.isSafeInteger(units) ? (units as number) : null
}
