import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { WebhookEvent } from '../event.ts'
import { asVerified, makeProvider, onlyEvent } from '../testing/make-provider.ts'

const secret = 'a secret of the shop'
const EFFECTS = ['payment.succeeded', 'payment.failed']

/** Paystack, by settings alone (paystack.com/docs/payments/webhooks). */
const PAYSTACK = {
  ...{ scheme: 'hmac', header: 'x-paystack-signature', algorithm: 'sha512', effects: EFFECTS },
  read: {
    ...{ type: '/event', object: '/data/id', order: '/data/metadata/order', amount: '/data/amount' },
    ...{ currency: '/data/currency', time: '/data/paid_at' },
  },
  events: { 'charge.success': { is: 'payment.succeeded', where: { '/data/status': 'success' } } },
}
const CHARGE = {
  event: 'charge.success',
  data: {
    ...{ id: 302_961, status: 'success', amount: 2_000, currency: 'NGN', paid_at: '2026-01-01T00:00:00.000Z' },
    metadata: { order: 'ord_1' },
  },
}

function read(settings: object, body: unknown): WebhookEvent {
  const provider = makeProvider({ settings: settings as { scheme: string }, secrets: [{ value: secret }] })
  const rawBody = Buffer.from(JSON.stringify(body))
  const signature = createHmac('sha512', secret).update(rawBody).digest('hex')
  const rawHeaders = ['x-paystack-signature', signature]
  return onlyEvent(provider.readEvents(asVerified({ rawBody, rawHeaders, query: '', secretId: 's1' })))
}

describe('a mapping', () => {
  it('reads a provider that nobody has built in', () => {
    expect(read(PAYSTACK, CHARGE)).toEqual({
      ...{ id: expect.stringMatching(/^sha256:/), type: 'payment.succeeded', objectId: '302961' },
      facts: { orderId: 'ord_1', amount: 2_000, currency: 'NGN', occurredAt: '2026-01-01T00:00:00.000Z' },
    })
  })

  it.each([['pending'], [undefined], [true]])('means a type only where its conditions hold: status %j', (status) => {
    expect(read(PAYSTACK, { ...CHARGE, data: { ...CHARGE.data, status } }).type).toBe('charge.success')
  })

  it('overrides what the scheme means by a type, also where its conditions do not hold', () => {
    const events = { 'payment_intent.succeeded': { is: 'payment.succeeded', where: { '/data/object/capture': true } } }
    const intent = { id: 'evt_1', type: 'payment_intent.succeeded', livemode: true }
    const readIntent = (object: object): string =>
      read({ scheme: 'stripe', events }, { ...intent, data: { object: { id: 'pi_1', ...object } } }).type
    expect([readIntent({ capture: true }), readIntent({ capture: false })]).toEqual([
      'payment.succeeded',
      'payment_intent.succeeded',
    ])
  })

  it.each([
    ['paystack', '/data/requested_amount', { event: 'charge.success', data: { id: 1, status: 'success' } }],
    ['stripe', '/data/amount', { id: 'e1', type: 'payment_intent.succeeded', data: { object: { id: 'pi_1' } } }],
    ['checkout', '/data/amount', { id: 'e1', type: 'payment_captured', data: { id: 'pay_1' } }],
  ])('of an amount keeps the minor units of the provider: %s', (scheme, amount, { data, ...event }) => {
    const currency = { paystack: 'XOF', stripe: 'UGX', checkout: 'CLP' }[scheme]
    const body = { ...event, livemode: true, data: { ...data, currency, amount: 10_500, requested_amount: 10_500 } }
    const mapping = { amount, currency: '/data/currency' }
    expect(read({ scheme, read: mapping }, body).facts).toMatchObject({ amount: 105, currency })
    const whole = { ...body, data: { ...body.data, amount: 10_550, requested_amount: 10_550 } }
    expect(read({ scheme, read: mapping }, whole).facts).toMatchObject({ unreadable: 'amount_mismatch' })
    expect(read({ scheme, read: { ...mapping, amountIn: 'decimal' } }, body).facts).toMatchObject({ amount: 10_500 })
  })

  it.each([
    ['minor', 1_999, 1_999],
    ['minor', '1999', 1_999],
    ['decimal', '19.99', 1_999],
    ['decimal', 19.99, 1_999],
  ])('reads an amount in %s units: %j', (amountIn, amount, units) => {
    const settings = { ...PAYSTACK, read: { ...PAYSTACK.read, amountIn } }
    expect(read(settings, { ...CHARGE, data: { ...CHARGE.data, amount } }).facts.amount).toBe(units)
  })

  it.each([
    ['minor', 19.99],
    ['decimal', '19.999'],
    ['decimal', 'much'],
  ])('says that an amount in %s units is none: %j', (amountIn, amount) => {
    const settings = { ...PAYSTACK, read: { ...PAYSTACK.read, amountIn } }
    const { unreadable } = read(settings, { ...CHARGE, data: { ...CHARGE.data, amount } }).facts
    expect(unreadable).toBe('amount_mismatch')
  })

  it.each([[[]], ['text'], [{ event: 7 }], [{ event: 'charge.success', data: { status: 'success' } }]])(
    'refuses nothing that is authentic: %j',
    (body) => expect(read(PAYSTACK, body).facts.withheld).toBe('unreadable'),
  )

  it('of an id from several values is the same in every attempt, and another for another event', () => {
    const settings = { ...PAYSTACK, read: { ...PAYSTACK.read, idOf: ['/event', '/data/id', '/data/step'] } }
    const idOf = (data: object, attempt = 0): string => read(settings, { event: 'x', attempt, data }).id
    expect(idOf({ id: 1 })).toMatch(/^sha256:/)
    expect(idOf({ id: 1 }, 3)).toBe(idOf({ id: 1 }))
    expect(idOf({ id: 1, step: 1 })).not.toBe(idOf({ id: 1 }))
    const none = { ...PAYSTACK, read: { ...PAYSTACK.read, idOf: ['/nowhere'] } }
    expect(read(none, { ...CHARGE, attempt: 1 }).id).not.toBe(read(none, { ...CHARGE, attempt: 2 }).id)
  })

  it('of one value leaves the others where the scheme has them', () => {
    const body = {
      id: 'evt_1',
      type: 'x',
      data: { object: { id: 'o_1', currency: 'EUR', price: '5.00' } },
      cart: 'c_7',
    }
    const settings = { scheme: 'hmac', header: 'x-paystack-signature', algorithm: 'sha512', effects: EFFECTS }
    const pointers = { order: '/cart', amount: '/data/object/price', amountIn: 'decimal' }
    expect(read({ ...settings, read: pointers }, body)).toEqual({
      ...{ id: 'evt_1', type: 'x', objectId: 'o_1' },
      facts: { orderId: 'c_7', amount: 500, currency: 'EUR' },
    })
  })
})

describe('a sample event', () => {
  const problemsOf = (sample: unknown, settings: object = { ...PAYSTACK, requireAmount: true }): string[] => {
    try {
      makeProvider({ settings: { ...(settings as { scheme: string }), sample }, secrets: [{ value: secret }] })
      return []
    } catch (error) {
      return (error as Error).message.split('\n')
    }
  }
  const charge = (changed: object): object => ({ ...CHARGE, data: { ...CHARGE.data, ...changed } })

  it('that the settings fit has no problem, as JSON or as its text', () => {
    expect(problemsOf(CHARGE)).toEqual([])
    expect(problemsOf(JSON.stringify(CHARGE))).toEqual([])
    expect(problemsOf({ event: 'customer.created', ...charge({}) })).toEqual([])
  })

  it.each([{}, { notificationItems: [] }, { notificationItems: [{ NotificationRequestItem: 'x' }] }])(
    'of a provider with batches that has no event in it says so: %j',
    (sample) => {
      const settings = { scheme: 'adyen', read: { order: '/merchantReference' } }
      expect(() => makeProvider({ settings: { ...settings, sample }, secrets: [{ value: 'AA'.repeat(32) }] })).toThrow(
        'sample has no event in it',
      )
    },
  )

  it.each([
    ['that is none', 'charge', ['sample is not JSON']],
    [
      'of another provider',
      { type: 'charge.succeeded' },
      ['type', 'object', 'order', 'amount', 'currency', 'time'].map((name) => `sample has nothing at read.${name}`),
    ],
    [
      'in another state',
      charge({ status: 'pending' }),
      ['sample does not meet the conditions of its type at /data/status'],
    ],
    [
      'without a part of the id',
      CHARGE,
      ['sample has nothing at read.idOf[1]'],
      { ...PAYSTACK, read: { ...PAYSTACK.read, idOf: ['/data/id', '/attempt'] } },
    ],
    ['without the order', charge({ metadata: {} }), ['sample has nothing at read.order']],
    [
      'of a type that is a number',
      { ...CHARGE, event: 7 },
      ['sample cannot be read: the id, the type or the object is none'],
    ],
    [
      'of a payment without an id',
      charge({ id: {} }),
      ['sample cannot be read: the id, the type or the object is none'],
    ],
    [
      'with a decimal amount',
      charge({ amount: 20.5 }),
      ['sample has no amount in the units of read.amountIn at the place of the amount'],
    ],
    [
      'with the name of a currency',
      charge({ currency: 'Naira' }),
      ['sample has no currency of three letters at the place of the currency'],
    ],
    ['with a time that nobody reads', charge({ paid_at: 'yesterday' }), ['read.time finds no time in sample']],
  ])('%s is a problem of the settings', (_, sample, problems, settings?: object) => {
    expect(problemsOf(sample, settings)).toEqual(problems)
  })

  it('shows what expect refuses, and an amount that is required and missing', () => {
    expect(problemsOf(CHARGE, { ...PAYSTACK, expect: { '/data/domain': 'live' } })).toEqual([
      'sample does not meet expect at /data/domain',
    ])
    const { amount: _, ...read } = PAYSTACK.read
    expect(problemsOf(CHARGE, { ...PAYSTACK, requireAmount: true, read })).toEqual([
      'sample is a payment without an amount and a currency, which requireAmount asks for',
    ])
  })

  it('of a provider that is asked is refused: its values are not in the delivery', () => {
    const fetch = { baseUrl: 'https://api.example', token: 'FLWSECK-0123456789abcdef' }
    expect(problemsOf({}, { scheme: 'flutterwave', fetch })).toEqual([
      'sample must be omitted: the values come from the API of the provider',
    ])
  })
})
