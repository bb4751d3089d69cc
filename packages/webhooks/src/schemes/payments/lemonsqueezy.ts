import { jsonReader } from '../../events/event-reader.ts'
import { idOfBytes } from '../../events/id-of-bytes.ts'
import { orderInMetadata } from '../../events/metadata.ts'
import { minorUnitsOfText } from '../../events/money.ts'
import { PAYMENTS } from '../../events/permits.ts'
import { bodySignature } from '../../signatures/body-signature.ts'
import { defineScheme } from '../scheme.ts'

const TYPES = {
  'order_created.paid': 'payment.succeeded',
  'order_created.failed': 'payment.failed',
  subscription_payment_success: 'payment.succeeded',
  subscription_payment_failed: 'payment.failed',
} as const

/**
 * Lemon Squeezy (docs.lemonsqueezy.com/help/webhooks/signing-requests): HMAC-SHA256 of the body in hexadecimal in
 * `X-Signature`. It signs no time and sends no event id, so the id is made from the body. The status of an order shows
 * whether it is paid.
 */
export const lemonsqueezy = defineScheme(
  'lemonsqueezy',
  {},
  {
    ...bodySignature({ algorithm: 'sha256', headers: ['x-signature'], encoding: 'hex' }),
    redelivery: { hours: 1, source: 'docs.lemonsqueezy.com/help/webhooks' },
    permits: { ...PAYMENTS, origin: ['/meta/test_mode', '/data/attributes/store_id'] },
    prepareReader: jsonReader(TYPES, (_, at, { rawBody }) => ({
      id: idOfBytes(rawBody),
      type: at('/meta/event_name'),
      status: at('/data/attributes/status'),
      objectId: at('/data/id'),
      orderId: orderInMetadata(at('/meta/custom_data')),
      amount: minorUnitsOfText(at('/data/attributes/total')),
      currency: at('/data/attributes/currency'),
      occurredAt: at('/data/attributes/updated_at') ?? at('/data/attributes/created_at'),
    })),
  },
)
