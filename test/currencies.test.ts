import { orderContentSchema } from '@oncehook/fulfilment/orders/order'
import { CURRENCIES, decimalsOf, formatAmount, toDecimal } from '@oncehook/kernel/money/currencies'
import { toUnitsOf } from '@oncehook/webhooks/signing/provider-units'
import { describe, expect, it } from 'vitest'
import { minorUnits } from '../packages/webhooks/src/events/money.ts'
import { minorUnitsOfAdyen } from '../packages/webhooks/src/schemes/adyen/adyen-money.ts'
import { isoUnitsOfStripe } from '../packages/webhooks/src/schemes/payments/stripe-money.ts'

// Its digits show every number of decimals from none to four, and each provider can express it in its units.
const UNITS = 1_234_500

/** The amount as a decimal of ISO 4217, without the functions under test. */
function decimalOf(currency: string): string {
  const digits = String(UNITS)
  const point = digits.length - decimalsOf(currency)
  return point === digits.length ? digits : `${digits.slice(0, point)}.${digits.slice(point)}`
}

/** The currencies whose unit a part gets wrong. */
function wrong(isRight: (currency: string) => boolean): string[] {
  return CURRENCIES.filter((currency) => !isRight(currency))
}

describe('the minor unit of each currency of an order is that of ISO 4217', () => {
  it('in mailed receipts and in the command line', () => {
    expect(wrong((currency) => formatAmount(UNITS, currency) === `${decimalOf(currency)} ${currency}`)).toEqual([])
  })

  it('in decimals that a provider sends', () => {
    expect(wrong((currency) => minorUnits(decimalOf(currency), currency) === UNITS)).toEqual([])
  })

  it('in decimals that the simulator sends', () => {
    expect(wrong((currency) => toDecimal(UNITS, currency) === decimalOf(currency))).toEqual([])
  })

  it.each([
    ['Adyen', minorUnitsOfAdyen],
    ['Stripe', isoUnitsOfStripe],
  ] as const)('after the way through the units of %s', (provider, read) => {
    const back = (currency: string) => read(toUnitsOf(provider, UNITS, currency), currency)
    expect(wrong((currency) => back(currency) === UNITS)).toEqual([])
  })
})

describe('the currencies of an order', () => {
  it('are those of the table', () => {
    expect(orderContentSchema.shape.currency.options).toEqual(CURRENCIES)
  })
})
