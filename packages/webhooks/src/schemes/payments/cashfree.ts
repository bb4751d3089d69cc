import { resolvePointer } from '../../events/json-pointer.ts'
import { minorUnits } from '../../events/money.ts'
import { PAYMENTS } from '../../events/permits.ts'
import { readStrictObject } from '../../events/read-event.ts'
import { toEvent } from '../../events/to-event.ts'
import { idOfBytes } from '../../signatures/signed-body.ts'
import { secondsOf, signedTime } from '../../signatures/signed-time.ts'
import { UNDOCUMENTED } from '../redelivery.ts'
import { defineScheme } from '../scheme.ts'

const TYPES = {
  PAYMENT_SUCCESS_WEBHOOK: 'payment.succeeded',
  PAYMENT_FAILED_WEBHOOK: 'payment.failed',
  PAYMENT_USER_DROPPED_WEBHOOK: 'payment.failed',
} as const

/**
 * Cashfree (cashfree.com/docs/api-reference/webhooks/payloads-and-signatures): HMAC-SHA256 in base64 over timestamp and
 * body without a separator, keyed with the client secret. The timestamp is in milliseconds; ten digits mean seconds. No event
 * id is signed, so it is made from the body, without the time, which every attempt may sign again.
 */
export const cashfree = defineScheme(
  'cashfree',
  {},
  {
    ...signedTime({
      signatureHeader: 'x-webhook-signature',
      timestampHeader: 'x-webhook-timestamp',
      encoding: 'base64',
      before: (timestamp) => timestamp,
      toSeconds: secondsOf,
    }),
    redelivery: UNDOCUMENTED,
    permits: PAYMENTS,
    prepareReader:
      (settings) =>
      ({ rawBody }) => {
        const body = readStrictObject(rawBody, true)
        const data = (member: string): unknown => resolvePointer(body, `/data/${member}`)
        const currency = data('payment/payment_currency')
        const found = {
          id: idOfBytes(rawBody),
          type: body.type,
          objectId: data('payment/cf_payment_id') ?? data('refund/cf_refund_id') ?? data('order/order_id'),
          orderId: data('order/order_id') ?? data('refund/order_id'),
          amount: minorUnits(data('payment/payment_amount'), currency),
          currency,
          occurredAt: body.event_time,
        }
        return [toEvent(found, { ...settings, types: TYPES, document: body })]
      },
  },
)
