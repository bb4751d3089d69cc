import { jsonReader } from '../../events/event-reader.ts'
import { idOfBytes } from '../../events/id-of-bytes.ts'
import { minorUnits } from '../../events/money.ts'
import { PAYMENTS } from '../../events/permits.ts'
import { secondsOf, timestampedSignature } from '../../signatures/timestamped-signature.ts'
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
    ...timestampedSignature({
      signatureHeader: 'x-webhook-signature',
      timestampHeader: 'x-webhook-timestamp',
      encoding: 'base64',
      toSeconds: secondsOf,
    }),
    redelivery: UNDOCUMENTED,
    permits: PAYMENTS,
    prepareReader: jsonReader(TYPES, (body, at, { rawBody }) => ({
      id: idOfBytes(rawBody),
      type: body.type,
      objectId: at('/data/payment/cf_payment_id') ?? at('/data/refund/cf_refund_id') ?? at('/data/order/order_id'),
      orderId: at('/data/order/order_id') ?? at('/data/refund/order_id'),
      amount: minorUnits(at('/data/payment/payment_amount'), at('/data/payment/payment_currency')),
      currency: at('/data/payment/payment_currency'),
      occurredAt: body.event_time,
    })),
  },
)
