import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { minorUnits, minorUnitsOfText } from './money.ts'

describe('minorUnits', () => {
  it.each([
    ['19.99', 'EUR', 1999],
    ['19.9', 'EUR', 1990],
    ['19', 'EUR', 1900],
    ['0.07', 'eur', 7],
    ['500', 'JPY', 500],
    ['1.234', 'KWD', 1234],
    ['1999.00', 'HUF', 199_900],
    ['1.5', 'CLF', 15_000],
    ['5000', 'CLP', 5000],
    [1.8, 'INR', 180],
    ['90071992547409.91', 'EUR', Number.MAX_SAFE_INTEGER],
  ])('reads %s %s as %s', (decimal, currency, units) => {
    expect(minorUnits(decimal, currency)).toBe(units)
  })

  it.each([
    ['19.999', 'EUR'],
    ['0.5', 'JPY'],
    ['-1', 'EUR'],
    ['1e3', 'EUR'],
    ['', 'EUR'],
    ['NaN', 'EUR'],
    [1e21, 'EUR'],
    [12n, 'EUR'],
    ['90071992547409.92', 'EUR'],
    ['19.99', 'EURO'],
    ['19.99', undefined],
  ])('reports that %s %s is no amount', (decimal, currency) => {
    expect(minorUnits(decimal, currency)).toBeNull()
  })

  it('reports that there is none', () => {
    expect(minorUnits(undefined, 'EUR')).toBeUndefined()
    expect(minorUnits(null, 'EUR')).toBeUndefined()
  })

  it('returns every amount of cents as it was written', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (units) => {
        const digits = String(units).padStart(3, '0')
        expect(minorUnits(`${digits.slice(0, -2)}.${digits.slice(-2)}`, 'EUR')).toBe(units)
      }),
    )
  })
})

describe('minorUnitsOfText', () => {
  it.each([
    ['1999', 1999],
    [1999, 1999],
    ['0', 0],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
  ])('reads %j as %j', (text, units) => {
    expect(minorUnitsOfText(text)).toBe(units)
  })

  it.each(['19.99', '-1', '1e3', '', ' 1', '9007199254740992', 1.5, 9_007_199_254_740_992, 12n, true, {}])(
    'tells that %s is no amount',
    (text) => {
      expect(minorUnitsOfText(text)).toBeNull()
    },
  )

  it('reports that there is none', () => {
    expect(minorUnitsOfText(undefined)).toBeUndefined()
    expect(minorUnitsOfText(null)).toBeUndefined()
  })
})
