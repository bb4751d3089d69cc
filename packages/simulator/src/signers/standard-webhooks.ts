import { createHmac } from 'node:crypto'
import { plainTypes, writePlainEvent } from '../payment-event.ts'
import { readBase64Secret } from './secret-bytes.ts'
import {
  type HeaderLine,
  readTextSetting,
  type Signer,
  SigningError,
  type SigningRequest,
  toSeconds,
} from './signer.ts'

/**
 * Standard Webhooks v1 (github.com/standard-webhooks/standard-webhooks, spec): HMAC-SHA256 over `id.timestamp.body`.
 * The setting `headerPrefix` is `webhook-` unless said otherwise; Svix sends `svix-`.
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
  const key = readBase64Secret(request.secret.replace(/^whsec_/, ''))
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(request.body).digest('base64')
  return [
    [`${prefix}id`, id],
    [`${prefix}timestamp`, timestamp],
    [`${prefix}signature`, `v1,${signature}`],
  ]
}

function readMessageId(id: string | undefined): string {
  if (id === undefined) throw new SigningError('Standard Webhooks sign the id of the event, and none was given')
  // A dot inside the id would let one signature stand for two different splits of the signed text.
  if (!/^[\x21-\x2d\x2f-\x7e]+$/.test(id)) {
    throw new SigningError('Standard Webhooks carry the id in a header: visible ASCII without a dot')
  }
  return id
}
