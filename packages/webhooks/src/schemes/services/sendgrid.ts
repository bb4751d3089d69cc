import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { invalidBody } from '@oncehook/kernel/error-codes'
import { parseStrictJson } from '@oncehook/kernel/strict-json'
import { singleHeader } from '../../delivery.ts'
import { eventInvalid } from '../../errors.ts'
import type { WebhookEvent } from '../../event.ts'
import { boundedItems } from '../../events/item-list.ts'
import { NO_PAYMENTS } from '../../events/permits.ts'
import { isObject } from '../../events/read-event.ts'
import { toEvent } from '../../events/to-event.ts'
import type { SharedSettings } from '../../settings/shared-settings.ts'
import { findKeyHolder } from '../../signatures/public-key.ts'
import { decodeBase64, isWithinTolerance } from '../../signatures/signature.ts'
import { UNDOCUMENTED } from '../redelivery.ts'
import { type CheckSignature, defineScheme, type Finding, type ReadKey } from '../scheme.ts'

const SIGNATURE = 'x-twilio-email-event-webhook-signature'
const TIMESTAMP = 'x-twilio-email-event-webhook-timestamp'

// SendGrid posts at most 768 KB, and its shortest events take about 200 bytes.
const MOST_EVENTS = 5_000

/**
 * SendGrid (twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features):
 * ECDSA on P-256 with SHA-256, DER in base64, over timestamp and body without a separator; the secret is the
 * public key that SendGrid shows, the base64 of its SPKI. One delivery carries several events, each with its own
 * `sg_event_id`. They are about mail, never about a payment; the settings may map their types.
 */
export const sendgrid = defineScheme(
  'sendgrid',
  {},
  {
    readKey: readPublicKey,
    signedHeaders: () => [SIGNATURE, TIMESTAMP],
    redelivery: UNDOCUMENTED,
    permits: NO_PAYMENTS,
    signsTime: () => true,
    prepare({ toleranceSeconds }, secrets): CheckSignature {
      return ({ rawHeaders, rawBody }, now): Finding => {
        const value = singleHeader(rawHeaders, SIGNATURE)
        const timestamp = singleHeader(rawHeaders, TIMESTAMP)
        if (value === null || timestamp === null) return { refused: 'header_missing' }
        if (!isWithinTolerance(timestamp, toleranceSeconds, now)) return { refused: 'timestamp_outside_window' }
        const signature = decodeBase64(value)
        if (signature === null) return { refused: 'header_malformed' }
        const text = Buffer.concat([Buffer.from(timestamp), rawBody])
        const secretId = findKeyHolder(secrets, [signature], {
          now,
          isSignedBy: (key, candidate) => verify('sha256', text, key, candidate),
        })
        return secretId === null ? { refused: 'signature_mismatch' } : { secretId }
      }
    },
    prepareReader:
      (settings) =>
      ({ rawBody }) => {
        const items = parseStrictJson(rawBody, { maxDepth: 512, bigIntegers: true })
        if (!Array.isArray(items)) throw invalidBody({ reason: 'not a list' }, { says: 'The body is not a JSON list' })
        return boundedItems<unknown>(items, MOST_EVENTS).map((item) => readItem(item, settings))
      },
  },
)

function readPublicKey(text: string): ReadKey {
  const key = keyOf(decodeBase64(text))
  const isP256 = key?.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1'
  return isP256 ? { key } : { problem: 'is not the base64 of a public key on P-256 (SPKI)' }
}

function keyOf(spki: Buffer | null): KeyObject | null {
  try {
    return spki === null ? null : createPublicKey({ key: spki, format: 'der', type: 'spki' })
  } catch {
    return null
  }
}

function readItem(item: unknown, settings: SharedSettings): WebhookEvent {
  if (!isObject(item)) throw eventInvalid()
  const found = {
    id: item.sg_event_id,
    type: item.event,
    objectId: item.sg_message_id,
    occurredAt: item.timestamp,
  }
  return toEvent(found, { ...settings, types: {}, document: item })
}
