import { expect, it } from 'vitest'
import { isoUnitsOfStripe } from './stripe-money.ts'

it.each([
  ['isk', 500, 5],
  ['UGX', 500, 5],
  ['MGA', 5, 500],
  ['ISK', 550, null],
  ['eur', 1999, 1999],
  ['JPY', 500, 500],
  ['KWD', 5120, 5120],
  [undefined, 7, 7],
  ['toString', 7, 7],
])('%s: %i of Stripe are %s of ISO 4217', (currency, units, iso) => {
  expect(isoUnitsOfStripe(units, currency)).toBe(iso)
})
