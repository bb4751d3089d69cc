import { hash, timingSafeEqual } from 'node:crypto'
import { verifyJwt } from '@oncehook/kernel/verify-jwt'
import { singleHeader } from '../../delivery.ts'
import { resolvePointer } from '../../events/json-pointer.ts'
import { NO_PAYMENTS } from '../../events/permits.ts'
import { readStrictObject } from '../../events/read-event.ts'
import { toEvent } from '../../events/to-event.ts'
import { decodeBase64, isLive } from '../../signatures/signature.ts'
import { UNDOCUMENTED } from '../redelivery.ts'
import { type CheckSignature, defineScheme, type Finding } from '../scheme.ts'

const HEADER = 'x-fusionauth-signature-jwt'

/**
 * FusionAuth (fusionauth.io/docs/extend/events-and-webhooks/signing): a JWT (RFC 7519), HS256 only, keyed with the secret,
 * whose claim `request_body_sha256` is the base64 of the body's SHA-256. It need not sign a time; time claims that are present
 * are checked with the tolerance. The id of the event is in the signed body. FusionAuth has no payments; the settings may map
 * its types.
 */
export const fusionauth = defineScheme(
  'fusionauth',
  {},
  {
    readKey: (text) => Buffer.from(text, 'utf8'),
    signedHeaders: () => [HEADER],
    redelivery: UNDOCUMENTED,
    permits: NO_PAYMENTS,
    signsTime: () => false,
    prepare({ toleranceSeconds }, secrets): CheckSignature {
      return async ({ rawHeaders, rawBody }, now): Promise<Finding> => {
        const token = singleHeader(rawHeaders, HEADER)
        if (!token) return { refused: 'header_missing' }
        const bodyHash = hash('sha256', rawBody, 'buffer')
        const live = secrets.filter((secret) => isLive(secret, now))
        const found = await Promise.all(
          live.map(async ({ id, key }) => {
            const claims = await verifyJwt(token, { key, now, leewaySeconds: toleranceSeconds })
            return claims !== null && isHashOf(bodyHash, claims.request_body_sha256) ? id : null
          }),
        )
        const secretId = found.find((id) => id !== null)
        return secretId === undefined ? { refused: 'signature_mismatch' } : { secretId }
      }
    },
    prepareReader:
      (settings) =>
      ({ rawBody }) => {
        const body = readStrictObject(rawBody, true)
        const event = (member: string): unknown => resolvePointer(body, `/event/${member}`)
        const instant = event('createInstant')
        const found = {
          id: event('id'),
          type: event('type'),
          objectId: event('user/id') ?? event('applicationId') ?? event('tenantId'),
          occurredAt: typeof instant === 'number' ? instant / 1_000 : undefined,
        }
        return [toEvent(found, { ...settings, types: {}, document: body })]
      },
  },
)

function isHashOf(bodyHash: Buffer, claim: unknown): boolean {
  const claimed = typeof claim === 'string' ? decodeBase64(claim) : null
  return claimed?.length === bodyHash.length && timingSafeEqual(claimed, bodyHash)
}
