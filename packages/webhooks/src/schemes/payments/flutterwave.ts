import type { WebhookEvent } from '../../event.ts'
import { resolvePointer } from '../../events/json-pointer.ts'
import { minorUnits } from '../../events/money.ts'
import { PAYMENTS } from '../../events/permits.ts'
import { isEventText, isObject, type JsonObject, readStrictObject, toId } from '../../events/read-event.ts'
import { toEvent } from '../../events/to-event.ts'
import { unsignedType } from '../../events/unsigned-type.ts'
import { fetchSettings, readFromApi } from '../../provider-api/provider-api.ts'
import type { SharedSettings } from '../../settings/shared-settings.ts'
import { prepareClearToken } from '../../signatures/clear-token.ts'
import { idOfBytes } from '../../signatures/signed-body.ts'
import { UNDOCUMENTED } from '../redelivery.ts'
import { type Confirmed, defineScheme } from '../scheme.ts'

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
    readKey: (text) => Buffer.from(text, 'utf8'),
    signedHeaders: () => [TOKEN_HEADER],
    clearTokenHeader: TOKEN_HEADER,
    redelivery: UNDOCUMENTED,
    permits: PAYMENTS,
    signsTime: () => false,
    prepare: (_, secrets) => prepareClearToken(TOKEN_HEADER, secrets),
    prepareReader:
      () =>
      ({ rawBody }) => {
        const body = readStrictObject(rawBody, true)
        // The body is not trusted until Flutterwave has confirmed it, so nothing is mapped yet.
        const type = unsignedType(isEventText(body.event) ? body.event : undefined)
        const found = { id: idOfBytes(rawBody), type, objectId: resolvePointer(body, '/data/id') }
        return [toEvent(found, { types: {}, document: body })]
      },
    prepareConfirm: (settings) => async (event, fetch) => {
      const { objectId, type } = event
      if (!/^\d{1,19}$/.test(objectId)) return { refused: 'object_unknown' }
      const path = type.startsWith('transfer.') ? ['transfers', objectId] : ['transactions', objectId, 'verify']
      const answer = await readFromApi(settings.fetch, { path }, fetch)
      return confirmedBy(answer, { event, settings })
    },
  },
)

interface Claimed {
  readonly event: WebhookEvent
  readonly settings: SharedSettings
}

function confirmedBy(answer: JsonObject | null, { event, settings }: Claimed): Confirmed {
  const data = answer?.data
  if (!isObject(data) || toId(data.id) !== event.objectId) return { refused: 'object_unknown' }
  const found = {
    id: `${event.type}:${event.objectId}:${String(data.status)}`,
    type: event.type,
    status: data.status,
    objectId: event.objectId,
    orderId: data.tx_ref ?? data.reference,
    amount: minorUnits(data.amount, data.currency),
    currency: data.currency,
    occurredAt: data.created_at,
  }
  return { event: toEvent(found, { ...settings, types: TYPES, document: data }) }
}
