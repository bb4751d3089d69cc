import { describe, expect, it } from 'vitest'
import { pointersOf } from '../events/conditions.ts'
import { resolvePointer } from '../events/json-pointer.ts'
import { asVerified, makeProvider, onlyEvent } from '../testing/make-provider.ts'
import { PRESETS } from './presets.ts'
import { DOCUSIGN, HUBSPOT, META, SLACK, X, ZOOM } from './services.ts'

const KEY = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8='

function read(scheme: string, body: object) {
  const provider = makeProvider({ settings: { scheme }, secrets: [{ value: KEY }] })
  const delivery = { rawBody: Buffer.from(JSON.stringify(body)), rawHeaders: [], query: '', secretId: 's1' }
  return onlyEvent(provider.readEvents(asVerified({ ...delivery, signedId: 'msg_1' })))
}

describe.each([...PRESETS, DOCUSIGN, HUBSPOT, META, SLACK, X, ZOOM])(
  'the sample of $name',
  ({ sample, read, types, sent }) => {
    it('has a value in each of its places but the time, so that the signer can write there', () => {
      const { amountIn: _, decimals: _decimals, time: _time, ...places } = read
      for (const place of Object.values({ ...places, ...(sent?.order === undefined ? {} : { order: sent.order }) })) {
        const values = [place].flat().map((pointer) => resolvePointer(sample, pointer))
        expect(values.filter((value) => value !== undefined && value !== null).length, String(place)).toBeGreaterThan(0)
      }
    })

    it('has a value wherever its types have a condition', () => {
      for (const meaning of Object.values(types)) {
        const pointers = typeof meaning === 'string' ? [] : pointersOf(meaning.where)
        expect(pointers.filter((pointer) => resolvePointer(sample, pointer) === undefined)).toEqual([])
      }
    })
  },
)

describe('a delivery of a preset', () => {
  const charge = { id: 1, status: 'success', reference: 'ref_1', amount: 100, currency: 'NGN' }

  it.each([
    ['no metadata', undefined],
    ['metadata that are JSON in a text', '{"order_id":"ord_1"}'],
    ['an order in the metadata that is no id', { order_id: { a: 1 } }],
  ])('with %s has the next place as its order', (_, metadata) => {
    const { facts } = read('paystack', { event: 'charge.success', data: { ...charge, metadata } })
    expect(facts).toMatchObject({ orderId: 'ref_1', amount: 100 })
  })

  it('with the order as a number, under its other name, has it', () => {
    const { facts } = read('paystack', { event: 'charge.success', data: { ...charge, metadata: { orderId: 42 } } })
    expect(facts.orderId).toBe('42')
  })

  it('whose status is not the one that counts has no effect', () => {
    const body = { event: 'charge.success', data: { ...charge, status: 'reversed' } }
    expect(read('paystack', body)).toMatchObject({ type: 'charge.success', objectId: '1' })
  })

  it('about something else names that, if it has an id at all', () => {
    expect(read('dodo', { type: 'subscription.active', data: { subscription_id: 'sub_1' } })).toMatchObject({
      type: 'subscription.active',
      objectId: 'sub_1',
    })
    const payout = read('revolut', { event: 'PAYOUT_COMPLETED', payout_id: 'po_1' })
    expect(payout).toMatchObject({ type: 'PAYOUT_COMPLETED' })
    expect(payout).not.toHaveProperty('objectId')
  })

  it('with an amount that its currency cannot have is no payment of another amount', () => {
    const data = { ...charge, amount: 1_050, currency: 'XOF' }
    expect(read('paystack', { event: 'charge.success', data }).facts).toMatchObject({ unreadable: 'amount_mismatch' })
  })

  it('of money that goes out pays nothing, whatever its order', () => {
    const data = { id: 'po_1', object: 'payment_order', direction: 'credit', metadata: { order_id: 'ord_1' } }
    expect(read('modern-treasury', { event: 'completed', data }).type).toBe('payment_order.completed')
  })

  const purchase = {
    ...{ id: 'e1', type: 'INITIAL_PURCHASE', period_type: 'NORMAL', environment: 'PRODUCTION', is_family_share: false },
    ...{ transaction_id: 't1', currency: 'USD', price_in_purchased_currency: 4.99 },
  }

  it('of the sandbox of the stores, where everybody buys for nothing, has no effect', () => {
    expect(read('revenuecat', { event: purchase }).facts).toMatchObject({ amount: 499 })
    const sandbox = read('revenuecat', { event: { ...purchase, environment: 'SANDBOX' } })
    expect(sandbox.facts).toMatchObject({ withheld: 'not_expected' })
  })

  it.each(['INITIAL_PURCHASE', 'RENEWAL', 'NON_RENEWING_PURCHASE'])(
    'of a %s that somebody else in the family has paid, pays nothing',
    (type) => {
      expect(read('revenuecat', { event: { ...purchase, type } }).type).toBe('payment.succeeded')
      expect(read('revenuecat', { event: { ...purchase, type, is_family_share: null } }).type).toBe('payment.succeeded')
      expect(read('revenuecat', { event: { ...purchase, type, is_family_share: true } }).type).toBe(type)
    },
  )

  const association = {
    ...{ eventId: 1, subscriptionId: 2, portalId: 3, occurredAt: 1708986598741, attemptNumber: 0 },
    ...{ subscriptionType: 'object.associationChange', fromObjectId: 7, toObjectId: 8, associationRemoved: false },
    ...{
      fromObjectTypeId: '0-1',
      toObjectTypeId: '0-2',
      associationTypeId: 279,
      associationCategory: 'HUBSPOT_DEFINED',
    },
  }

  it.each([
    ['of another attempt is the same event', { attemptNumber: 1 }, true],
    ['of an object of another kind is another event', { toObjectTypeId: '0-3' }, false],
  ])('about an association %s', (_, changes, isSame) => {
    const publicUrl = 'https://pay.example.com/api/webhooks/hubspot'
    const provider = makeProvider({ settings: { scheme: 'hubspot', publicUrl }, secrets: [{ value: KEY }] })
    const rawBody = Buffer.from(JSON.stringify([association, { ...association, ...changes }]))
    const [first, second] = provider.readEvents(asVerified({ rawBody, rawHeaders: [], query: '', secretId: 's1' }))
    expect(first?.id === second?.id).toBe(isSame)
  })

  const order = { id: 'ord_1', amount: 1000, currency: 'EUR', status: 'paid', type: 'recurring' }

  it.each([
    ['at its end, pays', { order, subscription: { status: 'active' } }, 'payment.succeeded'],
    ['at its begin, pays nothing', { order, subscription: { status: 'trialing' } }, 'checkout.completed'],
    ['that there is none of, pays', { order: { ...order, type: 'onetime' } }, 'payment.succeeded'],
    [
      'of an unpaid order, pays nothing',
      { order: { ...order, type: 'onetime', status: 'pending' } },
      'checkout.completed',
    ],
  ])('of a trial %s', (_, object, type) => {
    const event = read('creem', { id: 'evt_1', eventType: 'checkout.completed', object: { id: 'ch_1', ...object } })
    expect(event.type).toBe(type)
  })
})
