import { CURRENCIES, decimalsOf } from '@oncehook/kernel/money/currencies'
import { expect, it } from 'vitest'
import { asVerified, makeProvider, onlyEvent } from '../../testing/make-provider.ts'

const provider = makeProvider({ settings: { scheme: 'checkout' }, secrets: [{ value: 'a signature key' }] })

function amountOf(amount: unknown, currency: string) {
  const data = { id: 'pay_1', amount, currency, reference: 'ord_1' }
  const rawBody = Buffer.from(JSON.stringify({ id: 'evt_1', type: 'payment_captured', data }))
  const { facts } = onlyEvent(provider.readEvents(asVerified({ rawBody, rawHeaders: [], query: '', secretId: 's1' })))
  return facts.unreadable ?? facts.amount
}

it.each([
  ['1,000 CLP, its currency in small letters', 100_000, 'clp', 1_000],
  ['a fraction of a peso, which does not exist', 100_050, 'CLP', 'amount_mismatch'],
])('Checkout.com sends %s', (_, sent, currency, expected) => {
  expect(amountOf(sent, currency)).toBe(expected)
})

// checkout.com/docs/payments/accept-payments/format-the-amount-value, of 2025-12-17.
const WHOLE = 'BIF DJF GNF ISK JPY KMF KRW PYG RWF UGX VUV VND XAF XOF XPF'.split(' ')
const THOUSANDTHS = 'BHD IQD JOD KWD LYD OMR TND'.split(' ')

it('every currency counts as the page of Checkout.com says', () => {
  const oneOf = (currency: string): number =>
    WHOLE.includes(currency) ? 1 : THOUSANDTHS.includes(currency) ? 1_000 : 100
  const wrong = CURRENCIES.filter((currency) => amountOf(oneOf(currency), currency) !== 10 ** decimalsOf(currency))
  expect(wrong).toEqual([])
})
