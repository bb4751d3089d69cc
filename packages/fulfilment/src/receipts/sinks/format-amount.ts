/** An amount in minor units as people write it, by exact arithmetic: 1999 EUR is `19.99 EUR`, 500 JPY is `500 JPY`. */
export function formatAmount(minorUnits: number, currency: string): string {
  const options = new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions()
  const decimals = options.maximumFractionDigits ?? 2
  if (decimals === 0) return `${minorUnits} ${currency}`
  const digits = String(minorUnits).padStart(decimals + 1, '0')
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)} ${currency}`
}
