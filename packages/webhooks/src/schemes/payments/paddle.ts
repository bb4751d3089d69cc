import { jsonReader } from '../../events/event-reader.ts'
import { orderInMetadata } from '../../events/metadata.ts'
import { minorUnitsOfText } from '../../events/money.ts'
import { PAYMENTS } from '../../events/permits.ts'
import { listSignature } from '../../signatures/list-signature.ts'
import { defineScheme } from '../scheme.ts'

const TYPES = {
  'transaction.completed': 'payment.succeeded',
  'transaction.payment_failed': 'payment.failed',
} as const

/**
 * Paddle Billing (developer.paddle.com/webhooks/signature-verification): HMAC-SHA256 in hexadecimal over timestamp, colon
 * and body, in `Paddle-Signature: ts=…;h1=…`. During a rotation there are several `h1`, in any order. Paddle's own
 * libraries allow 5 seconds, which loses deliveries.
 */
export const paddle = defineScheme(
  'paddle',
  {},
  {
    ...listSignature({ header: 'paddle-signature', separator: ';', time: 'ts', signature: 'h1', between: ':' }),
    redelivery: { hours: 72, source: 'developer.paddle.com/webhooks: 60 retries' },
    permits: PAYMENTS,
    prepareReader: jsonReader(TYPES, (body, at) => ({
      id: body.event_id,
      type: body.event_type,
      objectId: at('/data/id'),
      orderId: orderInMetadata(at('/data/custom_data')),
      amount: minorUnitsOfText(at('/data/details/totals/grand_total')),
      currency: at('/data/currency_code'),
      occurredAt: body.occurred_at,
    })),
  },
)
