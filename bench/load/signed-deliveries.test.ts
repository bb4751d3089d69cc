import { makeProvider } from '@oncehook/webhooks/testing/make-provider'
import Stripe from 'stripe'
import { describe, expect, it } from 'vitest'
import { forgeDeliveries } from './forged-deliveries.ts'
import { eventNumberOf, type SignedDelivery, signDeliveries } from './signed-deliveries.ts'

const secret = 'whsec_of_a_test_and_nothing_else'
const batch = {
  url: 'http://127.0.0.1:8080/webhooks',
  secret,
  count: 50,
  mix: 'unique',
  orderPrefix: 'order-',
} as const

function partsOf({ request }: SignedDelivery) {
  const [head = '', body = ''] = request.toString().split('\r\n\r\n')
  return {
    signature: /stripe-signature: (.*)\r\n/.exec(head)?.[1] ?? '',
    length: /content-length: (\d+)/.exec(head)?.[1],
    body,
  }
}

describe('signDeliveries', () => {
  it('gives each delivery its own id, order and signature', () => {
    const parts = signDeliveries(batch, Date.now()).map(partsOf)
    const orders = parts.map(({ body }) => JSON.parse(body).data.object.metadata.order_id)
    expect(orders).toEqual(Array.from({ length: 50 }, (_, index) => `order-${index}`))
    expect(new Set(parts.map(({ signature }) => signature)).size).toBe(50)
  })

  it("is accepted by the provider's own library, repetitions too", () => {
    for (const mix of ['unique', 'repeated'] as const) {
      for (const delivery of signDeliveries({ ...batch, mix, count: 200 }, Date.now())) {
        const { signature, body, length } = partsOf(delivery)
        expect(Stripe.webhooks.constructEvent(body, signature, secret).id).toBe(delivery.eventId)
        expect(Number(length)).toBe(Buffer.byteLength(body))
      }
    }
  })

  it('repeats an event with the same body and a new signature', () => {
    const deliveries = signDeliveries({ ...batch, mix: 'repeated', count: 1_000 }, Date.now())
    const byEvent = Map.groupBy(deliveries.map(partsOf), ({ body }) => body)
    expect(byEvent.size).toBe(50)
    expect(new Set(deliveries.map(({ eventId }) => eventId)).size).toBe(50)
    expect(new Set(deliveries.map((one) => partsOf(one).signature)).size).toBe(1_000)
  })
})

describe('eventNumberOf', () => {
  it('repeats in 19 of 20 deliveries, always an event that was sent before', () => {
    const numbers = Array.from({ length: 40_000 }, (_, index) => eventNumberOf(index, 'repeated'))
    let newest = -1
    for (const number of numbers) {
      expect(number).toBeLessThanOrEqual(newest + 1)
      newest = Math.max(newest, number)
    }
    expect(newest).toBe(1_999)
    const late = numbers.slice(20_000)
    expect(Math.max(...late.map((number, index) => Math.floor((20_000 + index) / 20) - number))).toBe(399)
  })
})

describe('forgeDeliveries', () => {
  it('creates bodies of the requested length that none of our keys signed', () => {
    const forged = forgeDeliveries({ url: batch.url, count: 40, bytes: 4_096, scheme: 'stripe' }, Date.now())
    expect(forged).toHaveLength(40)
    for (const delivery of forged) {
      const { signature, body, length } = partsOf(delivery)
      expect([Buffer.byteLength(body), Number(length)]).toEqual([4_096, 4_096])
      expect(() => JSON.parse(body)).not.toThrow()
      expect(() => Stripe.webhooks.constructEvent(body, signature, secret)).toThrow(/signature/)
    }
  })

  it.each(['twilio', 'adyen'] as const)(
    'makes deliveries of %s that are read as a whole before they are refused',
    (scheme) => {
      const publicUrl = scheme === 'twilio' ? { publicUrl: 'https://bench.example/t' } : {}
      const provider = makeProvider({ settings: { scheme, ...publicUrl }, secrets: [{ value: '00'.repeat(16) }] })
      for (const { request } of forgeDeliveries({ url: batch.url, count: 3, bytes: 65_536, scheme }, Date.now())) {
        const end = request.indexOf('\r\n\r\n')
        const [, ...lines] = request.subarray(0, end).toString().split('\r\n')
        const delivery = {
          rawBody: request.subarray(end + 4),
          rawHeaders: lines.flatMap((line) => line.split(': ')),
          query: '',
        }
        expect(delivery.rawBody.length).toBe(65_536)
        expect(provider.verify(delivery, Date.now(), fetch)).toEqual({ refused: 'signature_mismatch' })
      }
    },
  )
})
