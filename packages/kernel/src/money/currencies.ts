/**
 * ISO 4217 currency codes (list one, as amended to 2025). BGN (Bulgaria) is kept, because orders use it. Units of
 * account and metals have no minor unit; here they count in hundredths. Own table, because `currency-codes` 2.2 lacks XAD
 * and XCG, and has two withdrawn codes.
 */
export const CURRENCIES: readonly string[] = (
  'AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE ' +
  'CHF CHW CLF CLP CNY COP COU CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ ' +
  'GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL ' +
  'LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR ' +
  'PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY ' +
  'TTD TWD TZS UAH UGX USD USN UYI UYU UYW UZS VED VES VND VUV WST XAD XAF XAG XAU XBA XBB XBC XBD XCD XCG XDR XOF ' +
  'XPD XPF XPT XSU XTS XUA XXX YER ZAR ZMW ZWG'
).split(' ')

const OTHER_THAN_TWO: ReadonlyMap<string, number> = new Map([
  ...'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'.split(' ').map((code) => [code, 0] as const),
  ...'BHD IQD JOD KWD LYD OMR TND'.split(' ').map((code) => [code, 3] as const),
  ...'CLF UYW'.split(' ').map((code) => [code, 4] as const),
])

/**
 * The number of decimals of a currency's minor unit by ISO 4217, or two for an unknown code. Do not use `Intl` to
 * read or write amounts in minor units: it returns the decimals that are usual in print (none for HUF).
 */
export function decimalsOf(currency: string): number {
  return OTHER_THAN_TWO.get(currency.toUpperCase()) ?? 2
}

/** Minor units as a decimal with all decimals of the currency: 1999 EUR is `19.99`, 500 JPY is `500`. */
export function toDecimal(minorUnits: number, currency: string): string {
  const decimals = decimalsOf(currency)
  if (decimals === 0) return String(minorUnits)
  const digits = String(minorUnits).padStart(decimals + 1, '0')
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}

/** An amount in minor units for people: `19.99 EUR`. No digit is lost. */
export function formatAmount(minorUnits: number, currency: string): string {
  return `${toDecimal(minorUnits, currency)} ${currency}`
}
