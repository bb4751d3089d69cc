import { type At, jsonReader } from '../../events/event-reader.ts'
import { idOfBytes } from '../../events/id-of-bytes.ts'
import { orderInMetadata } from '../../events/metadata.ts'
import { minorUnitsOfText } from '../../events/money.ts'
import { PAYMENTS } from '../../events/permits.ts'
import { bodySignature } from '../../signatures/body-signature.ts'
import { defineScheme } from '../scheme.ts'

const TYPES = {
  'payment.captured': 'payment.succeeded',
  'order.paid': 'payment.succeeded',
} as const

/**
 * Razorpay (razorpay.com/docs/webhooks/validate-test): HMAC-SHA256 of the body in hexadecimal in `X-Razorpay-Signature`,
 * keyed with the secret of the webhook, not of the API. It signs neither a time nor the id in `x-razorpay-event-id`, so the id
 * is made from the body. Redeliveries after a change of the secret are still signed with the old one.
 */
export const razorpay = defineScheme(
  'razorpay',
  {},
  {
    ...bodySignature({
      algorithm: 'sha256',
      headers: ['x-razorpay-signature'],
      encoding: 'hex',
      readHeaders: ['x-razorpay-event-id'],
    }),
    redelivery: { hours: 24, source: 'razorpay.com/docs/webhooks' },
    permits: { ...PAYMENTS, origin: ['/account_id'] },
    prepareReader: jsonReader(TYPES, (body, at, { rawBody }) => ({
      id: idOfBytes(rawBody),
      type: body.event,
      objectId: at('/payload/payment/entity/id') ?? otherEntity(at),
      orderId:
        orderInMetadata(at('/payload/payment/entity/notes'), at('/payload/order/entity/notes')) ??
        at('/payload/order/entity/receipt') ??
        at('/payload/payment/entity/order_id'),
      amount: minorUnitsOfText(at('/payload/payment/entity/amount')),
      currency: at('/payload/payment/entity/currency'),
      occurredAt: body.created_at,
    })),
  },
)

/** The id of the object of an event without a payment: the first one in `contains`. */
function otherEntity(at: At): unknown {
  const name = at('/contains/0')
  return typeof name === 'string' && !/[~/]/.test(name) ? at(`/payload/${name}/entity/id`) : undefined
}
