import { singleHeader, type VerifiedDelivery } from '../../delivery.ts'
import { jsonReader } from '../../events/event-reader.ts'
import { isEventText } from '../../events/event-text.ts'
import type { FoundEvent } from '../../events/found-event.ts'
import { idOfBytes } from '../../events/id-of-bytes.ts'
import type { JsonObject } from '../../events/json-object.ts'
import { minorUnits } from '../../events/money.ts'
import { PAYMENTS } from '../../events/permits.ts'
import { unsignedType } from '../../events/unsigned-type.ts'
import { bodySignature } from '../../signatures/body-signature.ts'
import { defineScheme } from '../scheme.ts'

const TYPES = {
  'orders/paid': 'payment.succeeded',
  'order_transactions/create.sale.failure': 'payment.failed',
  'order_transactions/create.sale.error': 'payment.failed',
  'order_transactions/create.capture.failure': 'payment.failed',
  'order_transactions/create.capture.error': 'payment.failed',
  'order_transactions/create.authorization.failure': 'payment.failed',
  'order_transactions/create.authorization.error': 'payment.failed',
} as const

/**
 * Shopify (shopify.dev/docs/apps/build/webhooks/verify-deliveries and …/events/verify-deliveries): HMAC-SHA256 of the
 * body in base64, in `X-Shopify-Hmac-Sha256`, for Events in `Shopify-Hmac-Sha256`; never in both. No header is signed, not
 * even the topic, so the type comes from the financial status of an order (`orders/paid`), or from the kind and status of a
 * transaction. Two topics that send the same bytes are one event.
 */
export const shopify = defineScheme(
  'shopify',
  {},
  {
    ...bodySignature({
      algorithm: 'sha256',
      headers: ['x-shopify-hmac-sha256', 'shopify-hmac-sha256'],
      encoding: 'base64',
      readHeaders: ['x-shopify-topic', 'x-shopify-webhook-id', 'shopify-topic', 'shopify-webhook-id'],
    }),
    redelivery: { hours: 4, source: 'shopify.dev/docs/apps/build/webhooks: 8 retries' },
    permits: { ...PAYMENTS, origin: ['/test'] },
    prepareReader: jsonReader({}, (body, _, delivery) => ({
      id: idOfBytes(delivery.rawBody),
      type: unsignedType(topicOf(delivery)),
      objectId: body.id,
      occurredAt: body.updated_at ?? body.created_at,
      ...findInBody(body),
    })),
  },
)

function topicOf({ rawHeaders }: VerifiedDelivery): string | null {
  return singleHeader(rawHeaders, 'x-shopify-topic') ?? singleHeader(rawHeaders, 'shopify-topic')
}

/** What the signed body says about the type: only then is it mapped. */
function findInBody(body: JsonObject): Partial<FoundEvent> {
  const { financial_status: paid, kind, status, topic, action, currency } = body
  if (isEventText(paid)) {
    const amount = minorUnits(body.total_price, currency)
    return { type: `orders/${paid}`, types: TYPES, orderId: body.id, amount, currency }
  }
  if (isEventText(kind) && isEventText(status) && body.order_id !== undefined) {
    const amount = minorUnits(body.amount, currency)
    const type = 'order_transactions/create'
    return { type, types: TYPES, status: `${kind}.${status}`, orderId: body.order_id, amount, currency }
  }
  return isEventText(topic) && isEventText(action) ? { type: `${topic}/${action}`, types: TYPES } : {}
}
