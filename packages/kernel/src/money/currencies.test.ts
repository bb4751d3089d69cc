import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CURRENCIES, decimalsOf, formatAmount, toDecimal } from './currencies.ts'

/** The decimals that are usual in print. */
function inPrint(currency: string): number | undefined {
  return new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits
}

describe('decimalsOf', () => {
  it('differs from print only if print drops the minor unit of ISO 4217', () => {
    const different = CURRENCIES.filter((code) => decimalsOf(code) !== inPrint(code)).map((code) => [
      code,
      decimalsOf(code),
    ])
    const hundredths = 'AFN ALL COP HUF IDR IRR KPW LAK LBP MGA MMK PKR SOS SYP YER'.split(' ')
    expect(Object.fromEntries(different)).toEqual({
      ...Object.fromEntries(hundredths.map((code) => [code, 2])),
      IQD: 3,
    })
  })

  it.each([
    ['EUR', 2],
    ['eur', 2],
    ['JPY', 0],
    ['KWD', 3],
    ['CLF', 4],
    ['ZZZ', 2],
  ])('of %s is %i', (currency, decimals) => {
    expect(decimalsOf(currency)).toBe(decimals)
  })
})

describe('toDecimal and formatAmount', () => {
  it.each([
    [1999, 'EUR', '19.99'],
    [5, 'EUR', '0.05'],
    [0, 'USD', '0.00'],
    [500, 'JPY', '500'],
    [12345, 'KWD', '12.345'],
    [199_900, 'HUF', '1999.00'],
    [1_500_000, 'IQD', '1500.000'],
    [1, 'CLF', '0.0001'],
    [Number.MAX_SAFE_INTEGER, 'EUR', '90071992547409.91'],
  ])('write %i minor units of %s as %s', (units, currency, decimal) => {
    expect(toDecimal(units, currency)).toBe(decimal)
    expect(toDecimal(units, currency.toLowerCase())).toBe(decimal)
    expect(formatAmount(units, currency)).toBe(`${decimal} ${currency}`)
  })

  it('loses no digit', () => {
    fc.assert(
      fc.property(fc.nat(Number.MAX_SAFE_INTEGER), (amount) => {
        expect(Number(formatAmount(amount, 'EUR').replace(/[. EUR]/g, ''))).toBe(amount)
      }),
    )
  })
})
