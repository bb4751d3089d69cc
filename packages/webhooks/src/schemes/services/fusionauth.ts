import { hash, timingSafeEqual } from 'node:crypto'
import { verifyJwt } from '@oncehook/kernel/secrets/verify-jwt'
import { singleHeader } from '../../delivery.ts'
import { jsonReader } from '../../events/event-reader.ts'
import { NO_PAYMENTS } from '../../events/permits.ts'
import { readTextKey } from '../../signatures/read-key.ts'
import { isLive, resultOf } from '../../signatures/signature.ts'
import { decodeBase64 } from '../../signatures/signature-form.ts'
import { UNDOCUMENTED } from '../redelivery.ts'
import { type CheckResult, type CheckSignature, defineScheme } from '../scheme.ts'

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
    readKey: readTextKey,
    signedHeaders: () => [HEADER],
    redelivery: UNDOCUMENTED,
    permits: NO_PAYMENTS,
    signsTime: () => false,
    prepare({ toleranceSeconds }, secrets): CheckSignature {
      return async ({ rawHeaders, rawBody }, now): Promise<CheckResult> => {
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
        return resultOf(found.find((id) => id !== null) ?? null)
      }
    },
    prepareReader: jsonReader({}, (_, at) => {
      const instant = at('/event/createInstant')
      return {
        id: at('/event/id'),
        type: at('/event/type'),
        objectId: at('/event/user/id') ?? at('/event/applicationId') ?? at('/event/tenantId'),
        occurredAt: typeof instant === 'number' ? instant / 1_000 : undefined,
      }
    }),
  },
)

function isHashOf(bodyHash: Buffer, claim: unknown): boolean {
  const claimed = typeof claim === 'string' ? decodeBase64(claim) : null
  return claimed?.length === bodyHash.length && timingSafeEqual(claimed, bodyHash)
}
