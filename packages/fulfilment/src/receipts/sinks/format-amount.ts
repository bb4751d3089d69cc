import { decimalsOf } from '@oncehook/kernel/currencies'

/** Formats an amount in ISO 4217 minor units exactly: 1999 EUR is `19.99 EUR`, 500 JPY is `500 JPY`. */
export function formatAmount(minorUnits: number, currency: string): string {
  const decimals = decimalsOf(currency)
  if (decimals === 0) return `${minorUnits} ${currency}`
  const digits = String(minorUnits).padStart(decimals + 1, '0')
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)} ${currency}`
}
