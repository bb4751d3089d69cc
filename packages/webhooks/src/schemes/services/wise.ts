import { jsonReader } from '../../events/event-reader.ts'
import { idOfBytes } from '../../events/id-of-bytes.ts'
import { NO_PAYMENTS } from '../../events/permits.ts'
import { bodySignature } from '../../signatures/body-signature.ts'
import { findByPublicKey, publicKeyOf } from '../../signatures/public-key.ts'
import { defineScheme, type ReadKey } from '../scheme.ts'

/**
 * Wise (docs.wise.com/guides/developer/webhooks/event-handling): RSA (PKCS #1 v1.5) with SHA-256 over the body, in base64; the secret
 * is the public key that Wise publishes. Every customer's events are signed with the same key, so the settings should expect the
 * own profile or subscription. Neither a time nor an id is signed.
 */
export const wise = defineScheme(
  'wise',
  {},
  {
    ...bodySignature({ headers: ['x-signature-sha256'], encoding: 'base64', findSecret: findByPublicKey('sha256') }),
    readKey: readPublicKey,
    redelivery: { hours: 336, source: 'docs.wise.com/guides/developer/webhooks/event-handling' },
    permits: { ...NO_PAYMENTS, origin: ['/subscription_id'] },
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
  const key = PEM.test(text) ? publicKeyOf(text) : null
  return key?.asymmetricKeyType === 'rsa' ? { key } : { problem: 'is not an RSA public key (PEM)' }
}
