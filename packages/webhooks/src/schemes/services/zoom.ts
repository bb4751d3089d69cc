import type { VerifiedDelivery } from '../../delivery.ts'
import { readJsonObject } from '../../events/json-object.ts'
import { resolvePointer } from '../../events/json-pointer.ts'
import { ZOOM } from '../../presets/services.ts'
import { hmac, type LiveSecret } from '../../signatures/signature.ts'
import { presetScheme } from '../preset-scheme.ts'
import type { HandshakeAnswer } from '../scheme.ts'

/**
 * Zoom checks the URL (`endpoint.url_validation`) every 72 hours; that is answered and never stored. It sends no event id, so it is
 * made from the body, without the time, which every attempt signs again.
 */
export const zoom = presetScheme(ZOOM, {
  prepareHandshake: (_, secrets) => (delivery) => answerValidation(delivery, secrets),
})

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
