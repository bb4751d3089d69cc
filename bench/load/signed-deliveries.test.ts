import Stripe from 'stripe'
import { describe, expect, it } from 'vitest'
import { type SignedDelivery, signDeliveries } from './signed-deliveries.ts'

const secret = 'whsec_of_a_test_and_nothing_else'
const batch = { url: 'http://127.0.0.1:8080/webhooks', secret, count: 50, orderPrefix: 'order-' }

function partsOf({ request }: SignedDelivery) {
  const [head = '', body = ''] = request.toString().split('\r\n\r\n')
  return {
    signature: /stripe-signature: (.*)\r\n/.exec(head)?.[1] ?? '',
    length: /content-length: (\d+)/.exec(head)?.[1],
    body,
  }
}

describe('signDeliveries', () => {
  it('gives every delivery an id, an order and a signature of its own', () => {
    const parts = signDeliveries(batch, Date.now()).map(partsOf)
    const orders = parts.map(({ body }) => JSON.parse(body).data.object.metadata.order_id)
    expect(orders).toEqual(Array.from({ length: 50 }, (_, index) => `order-${index}`))
    expect(new Set(parts.map(({ signature }) => signature)).size).toBe(50)
  })

  it("is accepted by the provider's own library", () => {
    for (const delivery of signDeliveries(batch, Date.now())) {
      const { signature, body, length } = partsOf(delivery)
      expect(Stripe.webhooks.constructEvent(body, signature, secret).id).toBe(delivery.eventId)
      expect(Number(length)).toBe(Buffer.byteLength(body))
    }
  })
})
