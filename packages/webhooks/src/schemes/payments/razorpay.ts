import { orderInFreeFields } from '../../events/free-fields.ts'
import { resolvePointer } from '../../events/json-pointer.ts'
import { minorUnitsOfText } from '../../events/money.ts'
import { PAYMENTS } from '../../events/permits.ts'
import { type JsonObject, readStrictObject } from '../../events/read-event.ts'
import { toEvent } from '../../events/to-event.ts'
import { idOfBytes, signedBody } from '../../signatures/signed-body.ts'
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
    ...signedBody({
      algorithm: 'sha256',
      headers: ['x-razorpay-signature'],
      encoding: 'hex',
      readHeaders: ['x-razorpay-event-id'],
    }),
    redelivery: { hours: 24, source: 'razorpay.com/docs/webhooks' },
    permits: { ...PAYMENTS, origin: ['/account_id'] },
    prepareReader:
      (settings) =>
      ({ rawBody }) => {
        const body = readStrictObject(rawBody, true)
        const payment = (member: string): unknown => resolvePointer(body, `/payload/payment/entity/${member}`)
        const found = {
          id: idOfBytes(rawBody),
          type: body.event,
          objectId: payment('id') ?? otherEntity(body),
          orderId:
            orderInFreeFields(payment('notes'), resolvePointer(body, '/payload/order/entity/notes')) ??
            resolvePointer(body, '/payload/order/entity/receipt') ??
            payment('order_id'),
          amount: minorUnitsOfText(payment('amount')),
          currency: payment('currency'),
          occurredAt: body.created_at,
        }
        return [toEvent(found, { ...settings, types: TYPES, document: body })]
      },
  },
)

/** The id of the object of an event without a payment: the first one in `contains`. */
function otherEntity(body: JsonObject): unknown {
  const name = resolvePointer(body, '/contains/0')
  return typeof name === 'string' && !/[~/]/.test(name) ? resolvePointer(body, `/payload/${name}/entity/id`) : undefined
}
