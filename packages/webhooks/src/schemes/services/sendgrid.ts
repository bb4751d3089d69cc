import { eventInvalid } from '../../errors.ts'
import type { FoundEvent } from '../../events/found-event.ts'
import { readList } from '../../events/item-list.ts'
import { isObject } from '../../events/json-object.ts'
import { NO_PAYMENTS } from '../../events/permits.ts'
import { bodySignature } from '../../signatures/body-signature.ts'
import { findByPublicKey, publicKeyOf } from '../../signatures/public-key.ts'
import { decodeBase64 } from '../../signatures/signature-form.ts'
import { UNDOCUMENTED } from '../redelivery.ts'
import { defineScheme, type ReadKey } from '../scheme.ts'

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
    ...bodySignature({
      headers: ['x-twilio-email-event-webhook-signature'],
      timestampHeader: 'x-twilio-email-event-webhook-timestamp',
      encoding: 'base64',
      findSecret: findByPublicKey('sha256'),
    }),
    readKey: readPublicKey,
    redelivery: UNDOCUMENTED,
    permits: NO_PAYMENTS,
    prepareReader(settings) {
      const rules = { ...settings, types: {} }
      return (delivery) => readList(delivery, rules, { most: MOST_EVENTS, find: findInItem })
    },
  },
)

function readPublicKey(text: string): ReadKey {
  const spki = decodeBase64(text)
  const key = spki && publicKeyOf({ key: spki, format: 'der', type: 'spki' })
  const isP256 = key?.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1'
  return isP256 ? { key } : { problem: 'is not a P-256 public key in base64 (SPKI)' }
}

function findInItem(item: unknown): FoundEvent {
  if (!isObject(item)) throw eventInvalid()
  return {
    id: item.sg_event_id,
    type: item.event,
    objectId: item.sg_message_id,
    occurredAt: item.timestamp,
  }
}
