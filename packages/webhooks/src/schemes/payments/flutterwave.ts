import type { WebhookEvent } from '../../event.ts'
import { isEventText, toId } from '../../events/event-text.ts'
import type { FoundEvent } from '../../events/found-event.ts'
import { idOfBytes } from '../../events/id-of-bytes.ts'
import { isObject, type JsonObject, readJsonObject } from '../../events/json-object.ts'
import { minorUnits } from '../../events/money.ts'
import { PAYMENTS } from '../../events/permits.ts'
import { unconfirmedReader } from '../../events/unconfirmed-reader.ts'
import { unsignedType } from '../../events/unsigned-type.ts'
import { confirmByApi, OBJECT_UNKNOWN } from '../../provider-api/confirm-by-api.ts'
import { fetchSettings } from '../../provider-api/provider-api.ts'
import { readTextKey } from '../../signatures/read-key.ts'
import { prepareStaticToken } from '../../signatures/static-token.ts'
import { UNDOCUMENTED } from '../redelivery.ts'
import { defineScheme } from '../scheme.ts'

const TOKEN_HEADER = 'verif-hash'

const TYPES = {
  'charge.completed.successful': 'payment.succeeded',
  'charge.completed.failed': 'payment.failed',
} as const

/**
 * Flutterwave, version 3 (developer.flutterwave.com/v3.0/docs/webhooks): the header `verif-hash` contains the secret hash in
 * plaintext. Nothing is signed, so the transaction or transfer is read from Flutterwave (`"fetch"`, such as
 * https://api.flutterwave.com/v3), and only that answer counts. Each status of an object is one event.
 */
export const flutterwave = defineScheme(
  'flutterwave',
  { fetch: fetchSettings },
  {
    readKey: readTextKey,
    signedHeaders: () => [TOKEN_HEADER],
    staticTokenHeader: TOKEN_HEADER,
    redelivery: UNDOCUMENTED,
    permits: PAYMENTS,
    signsTime: () => false,
    prepare: (_, secrets) => prepareStaticToken(TOKEN_HEADER, secrets),
    prepareReader: unconfirmedReader(({ rawBody }) => {
      const { event, data } = readJsonObject(rawBody)
      const type = unsignedType(isEventText(event) ? event : undefined)
      return { id: idOfBytes(rawBody), type, objectId: isObject(data) ? data.id : undefined }
    }),
    prepareConfirm: confirmByApi({
      types: TYPES,
      questionOf(event) {
        const { objectId, type } = event
        if (objectId === undefined) return { event }
        if (!/^\d{1,19}$/.test(objectId)) return OBJECT_UNKNOWN
        return { path: type.startsWith('transfer.') ? ['transfers', objectId] : ['transactions', objectId, 'verify'] }
      },
      objectIn: ({ data }) => data,
      find: (data, event) => (toId(data.id) === event.objectId ? findInObject(data, event) : null),
    }),
  },
)

function findInObject(data: JsonObject, { type, objectId }: WebhookEvent): FoundEvent {
  return {
    id: `${type}:${objectId}:${String(data.status)}`,
    type,
    status: data.status,
    objectId,
    orderId: data.tx_ref ?? data.reference,
    amount: minorUnits(data.amount, data.currency),
    currency: data.currency,
    occurredAt: data.created_at,
  }
}
