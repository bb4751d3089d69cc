import type { VerifiedDelivery } from '../../delivery.ts'
import { jsonReader } from '../../events/event-reader.ts'
import { idOfBytes } from '../../events/id-of-bytes.ts'
import { readJsonObject } from '../../events/json-object.ts'
import { resolvePointer } from '../../events/json-pointer.ts'
import { NO_PAYMENTS } from '../../events/permits.ts'
import { hmac, type LiveSecret } from '../../signatures/signature.ts'
import { timestampedSignature } from '../../signatures/timestamped-signature.ts'
import { defineScheme, type HandshakeAnswer } from '../scheme.ts'

/**
 * Zoom (developers.zoom.us/docs/api/webhooks): HMAC-SHA256 in hexadecimal over `v0:`, timestamp, colon and body. The
 * check of the URL, `endpoint.url_validation`, is repeated every 72 hours; it is answered and never stored. Zoom sends no
 * event id, so it is made from the body, without the time, which every attempt signs again.
 */
export const zoom = defineScheme(
  'zoom',
  {},
  {
    ...timestampedSignature({
      signatureHeader: 'x-zm-signature',
      timestampHeader: 'x-zm-request-timestamp',
      encoding: 'hex',
      prefix: 'v0=',
      before: (timestamp) => `v0:${timestamp}:`,
    }),
    prepareHandshake: (_, secrets) => (delivery) => answerValidation(delivery, secrets),
    redelivery: { hours: 2, source: 'developers.zoom.us/docs/api/webhooks: 3 retries' },
    permits: NO_PAYMENTS,
    prepareReader: jsonReader({}, (body, at, { rawBody }) => ({
      id: idOfBytes(rawBody),
      type: body.event,
      objectId: at('/payload/object/id') ?? at('/payload/object/uuid') ?? at('/payload/account_id'),
      occurredAt: typeof body.event_ts === 'number' ? body.event_ts / 1_000 : undefined,
    })),
  },
)

// The token must not look like the signed text of a delivery: its MAC would be a signature.
const PLAIN_TOKEN = /^[A-Za-z0-9_-]{1,200}$/

function answerValidation(delivery: VerifiedDelivery, secrets: readonly LiveSecret[]): HandshakeAnswer | null {
  const { rawBody, secretId } = delivery
  if (!rawBody.includes('endpoint.url_validation')) return null
  const body = readJsonObject(rawBody)
  if (body.event !== 'endpoint.url_validation') return null
  const plainToken = resolvePointer(body, '/payload/plainToken')
  const secret = secrets.find(({ id }) => id === secretId)
  if (secret === undefined || typeof plainToken !== 'string' || !PLAIN_TOKEN.test(plainToken)) return null
  return {
    json: {
      plainToken,
      encryptedToken: Buffer.from(hmac('sha256', secret.key, [plainToken]), 'latin1').toString('hex'),
    },
  }
}
