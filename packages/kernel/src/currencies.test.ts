import { describe, expect, it } from 'vitest'
import { CURRENCIES, decimalsOf } from './currencies.ts'

/** The decimals that are usual in print. */
function inPrint(currency: string): number | undefined {
  return new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits
}

describe('CURRENCIES', () => {
  it('holds each of the 179 codes once, in the order of the alphabet', () => {
    expect(CURRENCIES).toHaveLength(179)
    expect(CURRENCIES).toEqual([...new Set(CURRENCIES)].toSorted())
  })
})

describe('decimalsOf', () => {
  it('differs from print only where print drops the minor unit of ISO 4217', () => {
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
