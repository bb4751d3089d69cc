// ISO 4217, list one: the currencies that do not have two decimals. This package imports no other, so it copies the kernel's
// table. test/currencies.test.ts compares the two.
const decimals = new Map<string, number>([
  ...'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'.split(' ').map((code) => [code, 0] as const),
  ...'BHD IQD JOD KWD LYD OMR TND'.split(' ').map((code) => [code, 3] as const),
  ['CLF', 4],
  ['UYW', 4],
])

/** Minor units as a decimal with all decimals of the currency: 1999 EUR is `19.99`, 500 JPY is `500`. */
export function toDecimal(minorUnits: number, currency: string): string {
  const places = decimals.get(currency.toUpperCase()) ?? 2
  if (places === 0) return String(minorUnits)
  const digits = String(minorUnits).padStart(places + 1, '0')
  return `${digits.slice(0, -places)}.${digits.slice(-places)}`
}
