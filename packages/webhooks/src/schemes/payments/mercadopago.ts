import { type Delivery, singleHeader } from '../../delivery.ts'
import type { WebhookEvent } from '../../event.ts'
import { isEventText, toId } from '../../events/event-text.ts'
import type { FoundEvent } from '../../events/found-event.ts'
import { type JsonObject, readJsonObject } from '../../events/json-object.ts'
import { orderInMetadata } from '../../events/metadata.ts'
import { minorUnits } from '../../events/money.ts'
import { PAYMENTS } from '../../events/permits.ts'
import { unconfirmedReader } from '../../events/unconfirmed-reader.ts'
import { unsignedType } from '../../events/unsigned-type.ts'
import { confirmByApi } from '../../provider-api/confirm-by-api.ts'
import { fetchSettings } from '../../provider-api/provider-api.ts'
import { onlyValueOf } from '../../signatures/list-signature.ts'
import { readTextKey } from '../../signatures/read-key.ts'
import { decodeHex, findSigner, hmac, isWithinTolerance, resultOf } from '../../signatures/signature.ts'
import { secondsOf } from '../../signatures/time-forms.ts'
import { UNDOCUMENTED } from '../redelivery.ts'
import { type CheckResult, type CheckSignature, defineScheme } from '../scheme.ts'

const TYPES = {
  'payment.approved': 'payment.succeeded',
  'payment.rejected': 'payment.failed',
  'payment.cancelled': 'payment.failed',
  'order.processed': 'payment.succeeded',
  'order.canceled': 'payment.failed',
  'order.expired': 'payment.failed',
  'order.failed': 'payment.failed',
} as const

/** The path of the API for the object of a notification, by topic. */
const PLACES: Readonly<Record<string, readonly string[]>> = {
  payment: ['v1', 'payments'],
  order: ['v1', 'orders'],
}

/**
 * Mercado Pago (mercadopago.com/developers, Your integrations, Notifications, Webhooks; utils/webhook of its npm library):
 * HMAC-SHA256 in hexadecimal over `id:…;request-id:…;ts:…;`, where the id is `data.id` of the query: in lower case by its
 * pages, as received by its libraries (3.6), so both are accepted. The body is not signed, so the payment or order is read
 * from Mercado Pago (`"fetch"`, https://api.mercadopago.com), and only that answer counts. Notifications of other topics
 * have no effect. The time is in seconds or in milliseconds.
 */
export const mercadopago = defineScheme(
  'mercadopago',
  { fetch: fetchSettings },
  {
    readKey: readTextKey,
    signedHeaders: () => ['x-signature', 'x-request-id'],
    usesQuery: () => true,
    redelivery: UNDOCUMENTED,
    permits: { ...PAYMENTS, origin: ['/live_mode'] },
    signsTime: () => true,
    prepare({ toleranceSeconds }, secrets): CheckSignature {
      return (delivery, now): CheckResult => {
        const header = singleHeader(delivery.rawHeaders, 'x-signature')
        const requestId = singleHeader(delivery.rawHeaders, 'x-request-id')
        const dataId = dataIdOf(delivery)
        if (!header || !requestId || dataId === null) return { refused: 'header_missing' }
        // As its library: what joins the lines of a list puts blanks behind the commas.
        const pairs = { header: header.replaceAll(/, +/g, ','), separator: ',' }
        const timestamp = onlyValueOf(pairs, 'ts')
        const signature = decodeHex(onlyValueOf(pairs, 'v1') ?? '')
        if (timestamp === undefined || signature === null || !REQUEST_ID.test(requestId))
          return { refused: 'header_malformed' }
        if (!isWithinTolerance(secondsOf(timestamp), toleranceSeconds, now))
          return { refused: 'timestamp_outside_window' }
        const signers = [...new Set([dataId, dataId.toLowerCase()])].map((id) => {
          const text = `id:${id};request-id:${requestId};ts:${timestamp};`
          return findSigner(secrets, [signature], { now, macOf: (key) => hmac('sha256', key, [text]) })
        })
        return resultOf(signers.find((signer) => signer !== null) ?? null)
      }
    },
    prepareReader: unconfirmedReader((delivery) => {
      const { type } = readJsonObject(delivery.rawBody)
      const objectId = dataIdOf(delivery)
      // Made only from signed values, so that nobody can turn one captured delivery into several events.
      const id = `${objectId?.toLowerCase()}:${singleHeader(delivery.rawHeaders, 'x-request-id')}`
      return { id, type: unsignedType(isEventText(type) ? type : undefined), objectId }
    }),
    prepareConfirm: confirmByApi({
      types: TYPES,
      questionOf(event) {
        const place = Object.hasOwn(PLACES, event.type) ? PLACES[event.type] : undefined
        return place === undefined || event.objectId === undefined ? { event } : { path: [...place, event.objectId] }
      },
      find: findInObject,
    }),
  },
)

// No semicolon: one signature would fit several splits of the signed text.
const REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/
const DATA_ID = /^[A-Za-z0-9_-]{1,64}$/

/** The `data.id` of the query, if it occurs exactly once. */
function dataIdOf({ query }: Pick<Delivery, 'query'>): string | null {
  const [id, ...more] = new URLSearchParams(query).getAll('data.id')
  return id !== undefined && more.length === 0 && DATA_ID.test(id) ? id : null
}

/** The event according to Mercado Pago. The same state of the same object is the same event, for every sender. */
function findInObject(object: JsonObject, event: WebhookEvent): FoundEvent | null {
  const objectId = toId(object.id)
  if (objectId === undefined || objectId.toLowerCase() !== event.objectId?.toLowerCase()) return null
  const currency = object.currency_id ?? object.currency
  const { transaction_amount_refunded: refunded } = object
  // An order stays processed when it is refunded (Order status, Status details).
  const status = object.status_detail === 'refunded' ? 'refunded' : object.status
  const state = [event.type, objectId, status, ...(refunded ? [`refunded-${String(refunded)}`] : [])]
  return {
    id: state.map(String).join(':'),
    type: event.type,
    status,
    objectId,
    orderId: object.external_reference || orderInMetadata(object.metadata),
    amount: minorUnits(object.transaction_amount ?? object.total_amount, currency),
    currency,
    occurredAt: object.date_last_updated ?? object.last_updated_date,
  }
}
