import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatAmount } from './format-amount.ts'

describe('formatAmount', () => {
  it.each([
    [1999, 'EUR', '19.99 EUR'],
    [5, 'EUR', '0.05 EUR'],
    [0, 'USD', '0.00 USD'],
    [500, 'JPY', '500 JPY'],
    [12345, 'KWD', '12.345 KWD'],
    [199_900, 'HUF', '1999.00 HUF'],
    [1_500_000, 'IQD', '1500.000 IQD'],
    [Number.MAX_SAFE_INTEGER, 'EUR', '90071992547409.91 EUR'],
  ])('writes %i %s as %s', (amount, currency, text) => {
    expect(formatAmount(amount, currency)).toBe(text)
  })

  it('loses no digit', () => {
    fc.assert(
      fc.property(fc.nat(Number.MAX_SAFE_INTEGER), (amount) => {
        expect(Number(formatAmount(amount, 'EUR').replace(/[. EUR]/g, ''))).toBe(amount)
      }),
    )
  })
})
