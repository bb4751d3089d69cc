import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'

const PREFIX = 'whsec_'
/** Standard Webhooks 1.0.0, "Signature scheme". */
const KEY_BYTES = { min: 24, max: 64 }

/** Decodes a Standard Webhooks secret (`whsec_` and the base64 of 24 to 64 bytes). Null for any other text. */
export function readWebhookKey(secret: string): KeyObject | null {
  const text = secret.slice(PREFIX.length)
  const bytes = Buffer.from(text, 'base64')
  const isCanonical = bytes.toString('base64') === text
  if (!secret.startsWith(PREFIX) || !isCanonical) return null
  return bytes.length < KEY_BYTES.min || bytes.length > KEY_BYTES.max ? null : createSecretKey(bytes)
}

export interface WebhookMessage {
  /** The same for every attempt. Must not contain a full stop, which is the separator. */
  readonly id: string
  /** When it is sent, in milliseconds since 1970. */
  readonly now: number
  readonly body: string
}

/** The headers that let a receiver verify the message with any Standard Webhooks library. Each key adds a signature. */
export function signWebhook({ id, now, body }: WebhookMessage, keys: readonly KeyObject[]): Record<string, string> {
  const timestamp = String(Math.floor(now / 1_000))
  const signatures = keys.map((key) => createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64'))
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.map((signature) => `v1,${signature}`).join(' '),
  }
}
