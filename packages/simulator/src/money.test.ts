import { describe, expect, it } from 'vitest'
import { toDecimal } from './money.ts'

describe('toDecimal', () => {
  it.each([
    [1999, 'EUR', '19.99'],
    [5, 'eur', '0.05'],
    [0, 'EUR', '0.00'],
    [500, 'JPY', '500'],
    [1999, 'KWD', '1.999'],
    [1, 'CLF', '0.0001'],
  ])('writes %i minor units of %s as %s', (units, currency, decimal) => {
    expect(toDecimal(units, currency)).toBe(decimal)
  })
})
