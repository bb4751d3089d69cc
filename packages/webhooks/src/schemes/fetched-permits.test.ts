import { describe, expect, it } from 'vitest'
import type { WebhookEvent } from '../event.ts'
import { asVerified, makeProvider, onlyEvent } from '../testing/make-provider.ts'

/** A payment as a provider describes it, and the delivery after which it is read. */
interface FetchedPayment {
  readonly scheme: string
  readonly token: string
  readonly secret?: string
  readonly query?: string
  readonly body: string
  /** The properties of the object, `account` included. */
  readonly payment: object
  /** The same without its amount. */
  readonly unpriced: object
  /** The answer of the provider with this object. */
  readonly answer: (payment: object) => object
}

const asIs = (payment: object): object => payment
const mollie = { id: 'tr_1', status: 'paid', metadata: { order_id: 'ord_1' }, account: 'mine' }
const mercadopago = { id: 1, status: 'approved', external_reference: 'ord_1', account: 'mine' }
const flutterwave = { id: 1, status: 'successful', tx_ref: 'ord_1', account: 'mine' }
const paypal = { id: 'CAPTURE-1', custom_id: 'ord_1' }
const paypalEvent = { id: 'WH-1', event_type: 'PAYMENT.CAPTURE.COMPLETED', account: 'mine' }

const FETCHED: readonly FetchedPayment[] = [
  {
    ...{ scheme: 'mollie-classic', token: 'live_key_0001', body: 'id=tr_1', answer: asIs },
    ...{ payment: { ...mollie, amount: { value: '19.99', currency: 'EUR' } }, unpriced: mollie },
  },
  {
    ...{ scheme: 'mercadopago', token: 'APP_USR-0001', secret: 'test_secret', query: 'data.id=1&type=payment' },
    ...{ body: '{"type":"payment"}', answer: asIs },
    ...{ payment: { ...mercadopago, transaction_amount: 19.99, currency_id: 'BRL' }, unpriced: mercadopago },
  },
  {
    ...{ scheme: 'flutterwave', token: 'FLWSECK-0001', secret: 'test_secret' },
    ...{ body: '{"event":"charge.completed","data":{"id":1}}', answer: (data) => ({ data }) },
    ...{ payment: { ...flutterwave, amount: 19.99, currency: 'EUR' }, unpriced: flutterwave },
  },
  {
    ...{ scheme: 'paypal', token: 'client:secret', secret: 'WEBHOOK-1' },
    ...{
      body: JSON.stringify({ id: 'WH-1', event_type: 'lie' }),
      answer: (resource) => ({ ...paypalEvent, resource }),
    },
    ...{ payment: { ...paypal, amount: { value: '19.99', currency_code: 'EUR' } }, unpriced: paypal },
  },
]

/** The event of a delivery after the provider has confirmed it with `answer`. */
async function confirmed({ scheme, token, secret, query = '', body }: FetchedPayment, given: object, answer: object) {
  const settings = { scheme, fetch: { baseUrl: 'https://api.example.com', token }, ...given }
  const provider = makeProvider({ settings, secrets: secret === undefined ? [] : [{ value: secret }] })
  const rawHeaders = ['x-request-id', 'req-1']
  const delivery = asVerified({ rawBody: Buffer.from(body), rawHeaders, query, secretId: 's1' })
  const granted = { access_token: 'A21AAF', expires_in: 32_400 }
  const ask: typeof fetch = async (url) => Response.json(String(url).endsWith('/oauth2/token') ? granted : answer)
  const answered = await provider.confirm?.(onlyEvent(provider.readEvents(delivery)), ask)
  if (answered === undefined || !('event' in answered)) throw new Error('The event was not confirmed')
  return factsOf(answered.event)
}

function factsOf({ type, facts: { withheld, unreadable } }: WebhookEvent) {
  return { type, withheld, unreadable }
}

const PAID = { type: 'payment.succeeded', withheld: undefined, unreadable: undefined }

describe.each(FETCHED)('a payment that is read from $scheme', (fetched) => {
  const { answer, payment, unpriced } = fetched

  it('counts if nothing forbids it', async () => {
    expect(await confirmed(fetched, {}, answer(payment))).toEqual(PAID)
  })

  it('has an effect only if the object that was read has the expected values', async () => {
    expect(await confirmed(fetched, { expect: { '/account': 'mine' } }, answer(payment))).toEqual(PAID)
    for (const other of [{ '/account': 'other' }, { '/nothing': 'mine' }]) {
      const withheld = await confirmed(fetched, { expect: other }, answer(payment))
      expect(withheld).toEqual({ ...PAID, withheld: 'not_expected' })
    }
  })

  it('has no effect that the settings do not allow', async () => {
    for (const effects of [[], ['payment.failed']]) {
      const withheld = await confirmed(fetched, { effects }, answer(payment))
      expect(withheld).toEqual({ ...PAID, withheld: 'effect_not_allowed' })
    }
  })

  it('must have an amount, unless the settings say otherwise', async () => {
    expect(await confirmed(fetched, {}, answer(unpriced))).toEqual({ ...PAID, unreadable: 'amount_missing' })
    expect(await confirmed(fetched, { requireAmount: false }, answer(unpriced))).toEqual(PAID)
  })
})
