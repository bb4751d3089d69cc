import { singleHeader } from '../../delivery.ts'
import { jsonReader } from '../../events/event-reader.ts'
import { isEventText } from '../../events/event-text.ts'
import type { FoundEvent } from '../../events/found-event.ts'
import { idOfBytes } from '../../events/id-of-bytes.ts'
import type { JsonObject } from '../../events/json-object.ts'
import { minorUnits } from '../../events/money.ts'
import { PAYMENTS } from '../../events/permits.ts'
import { unsignedType } from '../../events/unsigned-type.ts'
import { bodySignature } from '../../signatures/body-signature.ts'
import { UNDOCUMENTED } from '../redelivery.ts'
import { defineScheme } from '../scheme.ts'

const FAILED = { 'order.failed': 'payment.failed' } as const
const PAID = { 'order.processing': 'payment.succeeded', 'order.completed': 'payment.succeeded' } as const

/**
 * WooCommerce (developer.woocommerce.com/docs/apis/rest-api/v3/webhooks; WC_Webhook): HMAC-SHA256 of the body in base64
 * in `X-WC-Webhook-Signature`. It signs no time, no id and no topic: the id is made from the body, and the type from the
 * status of the order. A cash order is `processing` before it is paid, so only an order with a payment date counts as paid.
 * The ping after the creation of a webhook is not signed and gets 401, which WooCommerce shows and then ignores.
 */
export const woocommerce = defineScheme(
  'woocommerce',
  {},
  {
    ...bodySignature({
      algorithm: 'sha256',
      headers: ['x-wc-webhook-signature'],
      encoding: 'base64',
      readHeaders: ['x-wc-webhook-topic', 'x-wc-webhook-delivery-id'],
    }),
    redelivery: UNDOCUMENTED,
    permits: PAYMENTS,
    prepareReader: jsonReader({}, (body, _, { rawBody, rawHeaders }) => ({
      id: idOfBytes(rawBody),
      type: unsignedType(singleHeader(rawHeaders, 'x-wc-webhook-topic')),
      objectId: body.id,
      // The date is in UTC, but has no zone.
      occurredAt: isEventText(body.date_modified_gmt) ? `${body.date_modified_gmt}Z` : undefined,
      ...findInOrder(body),
    })),
  },
)

/** What the signed body says if it is an order: only then is its type mapped. */
function findInOrder(body: JsonObject): Partial<FoundEvent> {
  const { order_key: key, status, currency } = body
  if (!isEventText(key) || !isEventText(status)) return {}
  const types = isEventText(body.date_paid_gmt) ? { ...FAILED, ...PAID } : FAILED
  return { type: 'order', types, status, orderId: body.id, amount: minorUnits(body.total, currency), currency }
}
