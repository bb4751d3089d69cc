import { describe, expect, it } from 'vitest'
import { pointersOf } from '../events/conditions.ts'
import { resolvePointer } from '../events/json-pointer.ts'
import samples from '../signing/samples.json' with { type: 'json' }
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
  ({ name, read, types, sent }) => {
    const sample: unknown = new Map<string, unknown>(Object.entries(samples)).get(name)

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
})
