import { singleHeader } from '../../delivery.ts'
import { minorUnits } from '../../events/money.ts'
import { PAYMENTS } from '../../events/permits.ts'
import { isEventText, type JsonObject, readStrictObject } from '../../events/read-event.ts'
import { type FoundEvent, toEvent } from '../../events/to-event.ts'
import { unsignedType } from '../../events/unsigned-type.ts'
import { idOfBytes, signedBody } from '../../signatures/signed-body.ts'
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
    ...signedBody({
      algorithm: 'sha256',
      headers: ['x-wc-webhook-signature'],
      encoding: 'base64',
      readHeaders: ['x-wc-webhook-topic', 'x-wc-webhook-delivery-id'],
    }),
    redelivery: UNDOCUMENTED,
    permits: PAYMENTS,
    prepareReader:
      (settings) =>
      ({ rawBody, rawHeaders }) => {
        const body = readStrictObject(rawBody, true)
        const order = toldByOrder(body)
        const found: FoundEvent = {
          id: idOfBytes(rawBody),
          type: unsignedType(singleHeader(rawHeaders, 'x-wc-webhook-topic')),
          objectId: body.id,
          // The date is in UTC, but has no zone.
          occurredAt: isEventText(body.date_modified_gmt) ? `${body.date_modified_gmt}Z` : undefined,
          ...order?.found,
        }
        return [toEvent(found, { ...settings, types: order?.types ?? {}, document: body })]
      },
  },
)

interface ToldByOrder {
  readonly found: Partial<FoundEvent>
  readonly types: Readonly<Record<string, string>>
}

function toldByOrder(body: JsonObject): ToldByOrder | undefined {
  const { order_key: key, status, currency } = body
  if (!isEventText(key) || !isEventText(status)) return undefined
  const found = { type: 'order', status, orderId: body.id, amount: minorUnits(body.total, currency), currency }
  return { found, types: isEventText(body.date_paid_gmt) ? { ...FAILED, ...PAID } : FAILED }
}
