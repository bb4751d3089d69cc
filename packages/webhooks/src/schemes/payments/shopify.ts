import { singleHeader, type VerifiedDelivery } from '../../delivery.ts'
import { minorUnits } from '../../events/money.ts'
import { PAYMENTS } from '../../events/permits.ts'
import { isEventText, type JsonObject, readStrictObject } from '../../events/read-event.ts'
import { type FoundEvent, toEvent } from '../../events/to-event.ts'
import { unsignedType } from '../../events/unsigned-type.ts'
import { idOfBytes, signedBody } from '../../signatures/signed-body.ts'
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
    ...signedBody({
      algorithm: 'sha256',
      headers: ['x-shopify-hmac-sha256', 'shopify-hmac-sha256'],
      encoding: 'base64',
      readHeaders: ['x-shopify-topic', 'x-shopify-webhook-id', 'shopify-topic', 'shopify-webhook-id'],
    }),
    redelivery: { hours: 4, source: 'shopify.dev/docs/apps/build/webhooks: 8 retries' },
    permits: { ...PAYMENTS, origin: ['/test'] },
    prepareReader: (settings) => (delivery) => {
      const body = readStrictObject(delivery.rawBody, true)
      const told = toldByBody(body)
      const found: FoundEvent = {
        id: idOfBytes(delivery.rawBody),
        type: unsignedType(topicOf(delivery)),
        objectId: body.id,
        occurredAt: body.updated_at ?? body.created_at,
        ...told,
      }
      return [toEvent(found, { ...settings, types: told === undefined ? {} : TYPES, document: body })]
    },
  },
)

function topicOf({ rawHeaders }: VerifiedDelivery): string | null {
  return singleHeader(rawHeaders, 'x-shopify-topic') ?? singleHeader(rawHeaders, 'shopify-topic')
}

function toldByBody(body: JsonObject): Partial<FoundEvent> | undefined {
  const { financial_status: paid, kind, status, topic, action, currency } = body
  if (isEventText(paid)) {
    const amount = minorUnits(body.total_price, currency)
    return { type: `orders/${paid}`, orderId: body.id, amount, currency }
  }
  if (isEventText(kind) && isEventText(status) && body.order_id !== undefined) {
    const amount = minorUnits(body.amount, currency)
    const type = 'order_transactions/create'
    return { type, status: `${kind}.${status}`, orderId: body.order_id, amount, currency }
  }
  if (isEventText(topic) && isEventText(action)) return { type: `${topic}/${action}` }
  return undefined
}
