import { createHmac, createPrivateKey, type KeyObject, sign } from 'node:crypto'
import { plainTypes, writePlainEvent } from '../payment-event.ts'
import { readBase64Secret } from '../secret-bytes.ts'
import {
  type HeaderLine,
  readTextSetting,
  type Signer,
  SigningError,
  type SigningRequest,
  toSeconds,
} from '../signer.ts'

/**
 * Standard Webhooks (github.com/standard-webhooks/standard-webhooks, spec): HMAC-SHA256 over `id.timestamp.body` (v1), or
 * Ed25519 (v1a) with a private key: `whsk_` and the base64 of seed and public key. The default of the setting
 * `headerPrefix` is `webhook-`; Svix uses `svix-`.
 */
export const standardWebhooks: Signer = {
  types: plainTypes,
  settings: ['headerPrefix'],
  writeEvent: writePlainEvent,
  sign: signStandardWebhooks,
}

function signStandardWebhooks(request: SigningRequest): HeaderLine[] {
  const id = readMessageId(request.eventId)
  const prefix = readTextSetting(request.settings, 'headerPrefix') ?? 'webhook-'
  const timestamp = toSeconds(request.now)
  const text = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), request.body])
  const signature = request.secret.startsWith('whsk_')
    ? `v1a,${sign(null, text, readSigningKey(request.secret)).toString('base64')}`
    : `v1,${createHmac('sha256', readBase64Secret(request.secret.replace(/^whsec_/, '')))
        .update(text)
        .digest('base64')}`
  return [
    [`${prefix}id`, id],
    [`${prefix}timestamp`, timestamp],
    [`${prefix}signature`, signature],
  ]
}

function readSigningKey(secret: string): KeyObject {
  const bytes = readBase64Secret(secret.slice('whsk_'.length))
  if (bytes.length !== 64) throw new SigningError('The secret must be whsk_ followed by the base64 of 64 bytes')
  const d = bytes.subarray(0, 32).toString('base64url')
  const x = bytes.subarray(32).toString('base64url')
  return createPrivateKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', d, x } })
}

function readMessageId(id: string | undefined): string {
  if (id === undefined) throw new SigningError('Standard Webhooks signs the event id, but none was given')
  // A dot in the id would make the signed text ambiguous.
  if (!/^[\x21-\x2d\x2f-\x7e]+$/.test(id)) {
    throw new SigningError('Standard Webhooks sends the id in a header: it must be visible ASCII without a dot')
  }
  return id
}
