import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { singleHeader } from '../../delivery.ts'
import { jsonReader } from '../../events/event-reader.ts'
import { idOfBytes } from '../../events/id-of-bytes.ts'
import { NO_PAYMENTS } from '../../events/permits.ts'
import { findKeyHolder } from '../../signatures/public-key.ts'
import { resultOf } from '../../signatures/signature.ts'
import { decodeBase64 } from '../../signatures/signature-form.ts'
import { defineScheme, type ReadKey } from '../scheme.ts'

const HEADER = 'x-signature-sha256'

/**
 * Wise (docs.wise.com/guides/developer/webhooks/event-handling): RSA (PKCS #1 v1.5) with SHA-256 over the body, in base64; the secret
 * is the public key that Wise publishes. Every customer's events are signed with the same key, so the settings should expect the
 * own profile or subscription. Neither a time nor an id is signed.
 */
export const wise = defineScheme(
  'wise',
  {},
  {
    readKey: readPublicKey,
    signedHeaders: () => [HEADER],
    redelivery: { hours: 336, source: 'docs.wise.com/guides/developer/webhooks/event-handling' },
    permits: { ...NO_PAYMENTS, origin: ['/subscription_id'] },
    signsTime: () => false,
    prepare:
      (_, secrets) =>
      ({ rawHeaders, rawBody }, now) => {
        const signed = singleHeader(rawHeaders, HEADER)
        if (!signed) return { refused: 'header_missing' }
        const signature = decodeBase64(signed)
        if (signature === null) return { refused: 'header_malformed' }
        const isSignedBy = (key: KeyObject, bytes: Uint8Array): boolean => verify('sha256', rawBody, key, bytes)
        return resultOf(findKeyHolder(secrets, [signature], { now, isSignedBy }))
      },
    prepareReader: jsonReader({}, (body, at, { rawBody }) => ({
      id: idOfBytes(rawBody),
      type: body.event_type,
      status: at('/data/current_state'),
      objectId: at('/data/resource/id'),
      occurredAt: at('/data/occurred_at') ?? body.sent_at,
    })),
  },
)

const PEM = /^-----BEGIN PUBLIC KEY-----[A-Za-z0-9+/=\s]+-----END PUBLIC KEY-----$/

function readPublicKey(text: string): ReadKey {
  const key = PEM.test(text) ? keyOf(text) : null
  return key?.asymmetricKeyType === 'rsa' ? { key } : { problem: 'is not an RSA public key (PEM)' }
}

function keyOf(pem: string): KeyObject | null {
  try {
    return createPublicKey(pem)
  } catch {
    return null
  }
}
