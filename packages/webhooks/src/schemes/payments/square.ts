import { jsonReader } from '../../events/event-reader.ts'
import { minorUnitsOfText } from '../../events/money.ts'
import { PAYMENTS } from '../../events/permits.ts'
import { publicUrl } from '../../settings/common-settings.ts'
import { bodySignature } from '../../signatures/body-signature.ts'
import { defineScheme } from '../scheme.ts'

const TYPES = {
  'payment.created.COMPLETED': 'payment.succeeded',
  'payment.updated.COMPLETED': 'payment.succeeded',
  'payment.created.FAILED': 'payment.failed',
  'payment.updated.FAILED': 'payment.failed',
  'payment.created.CANCELED': 'payment.failed',
  'payment.updated.CANCELED': 'payment.failed',
} as const

/**
 * Square (developer.squareup.com/docs/webhooks/step3validate): HMAC-SHA256 in base64 over the notification address,
 * exactly as Square's dashboard shows it, and the body. It signs no time. The status of a payment decides what its event
 * means.
 */
export const square = defineScheme(
  'square',
  { publicUrl },
  {
    ...bodySignature({
      algorithm: 'sha256',
      headers: ['x-square-hmacsha256-signature'],
      encoding: 'base64',
      before: (settings: { readonly publicUrl: string }) => settings.publicUrl,
    }),
    redelivery: { hours: 24, source: 'developer.squareup.com/docs/webhooks' },
    permits: { ...PAYMENTS, origin: ['/merchant_id'] },
    prepareReader: jsonReader(TYPES, (body, at) => ({
      id: body.event_id,
      type: body.type,
      status: at('/data/object/payment/status'),
      objectId: at('/data/object/payment/id') ?? at('/data/id') ?? body.merchant_id,
      orderId: at('/data/object/payment/reference_id') ?? at('/data/object/payment/order_id'),
      amount: minorUnitsOfText(at('/data/object/payment/amount_money/amount')),
      currency: at('/data/object/payment/amount_money/currency'),
      occurredAt: body.created_at,
    })),
  },
)
