import { hash } from 'node:crypto'
import { z } from 'zod'
import { type Delivery, singleHeader } from '../../delivery.ts'
import { jsonReader } from '../../events/event-reader.ts'
import { idOfBytes } from '../../events/id-of-bytes.ts'
import { NO_PAYMENTS } from '../../events/permits.ts'
import type { Refusal } from '../../refusal.ts'
import { isJwsSignedBy, type Jws, readJws } from '../../signatures/jws.ts'
import { type LiveSecret, lastingSecret } from '../../signatures/signature.ts'
import { type CheckResult, defineScheme } from '../scheme.ts'
import { createPlaidKeyFinder, type PlaidKey, readPlaidKey } from './plaid-keys.ts'

const HEADER = 'plaid-verification'

const pinnedKeys = z
  .array(z.looseObject({ kid: z.string(), x: z.string(), y: z.string() }))
  .min(1)
  .max(8)
  .optional()

/**
 * Plaid (plaid.com/docs/api/webhooks/webhook-verification): a JWT, ES256, with the SHA-256 of the body and the time. The key is asked
 * for by its id with the client id and secret of the account, which are the secret here. Two notifications can have the same bytes,
 * and there is no id, so it is made from what is signed, with its time: every attempt is an event, and none is lost.
 */
export const plaid = defineScheme(
  'plaid',
  { keys: pinnedKeys, sandbox: z.boolean().default(false) },
  {
    problemsOf: ({ keys = [] }) =>
      keys.every((one) => readPlaidKey(one) !== null) ? [] : ['keys must be JWKs on P-256, as Plaid answers them'],
    readKey: (text) =>
      CREDENTIALS.test(text) ? Buffer.from(text) : { problem: 'is not the client id, a colon and the secret' },
    signedHeaders: () => [HEADER],
    fetchesKeys: ({ keys }) => keys === undefined,
    redelivery: { hours: 24, source: 'plaid.com/docs/api/webhooks' },
    permits: NO_PAYMENTS,
    signsTime: () => true,
    prepare({ keys, sandbox, toleranceSeconds }, secrets) {
      const host = sandbox ? 'sandbox.plaid.com' : 'production.plaid.com'
      const pinned = keys?.flatMap((one) => readPlaidKey(one) ?? [])
      const findKey = createPlaidKeyFinder()
      return (delivery, now, fetch) => {
        const sent = readSent(delivery, { now, toleranceSeconds })
        if (typeof sent === 'string') return { refused: sent }
        const secret = lastingSecret(secrets, now)
        if (secret === undefined) return { refused: 'signature_mismatch' }
        const check = (key: PlaidKey | null | undefined): CheckResult => checkSent(sent, { key, secret, now })
        if (pinned !== undefined) return check(pinned.find(({ id }) => id === sent.keyId))
        const credentials = secret.key.export().toString()
        return findKey(sent.keyId, { host, credentials, from: delivery.from, fetch }).then((found) =>
          delivery.timed === undefined ? check(found) : delivery.timed(() => check(found)),
        )
      }
    },
    prepareReader: jsonReader({}, (body, _, { signedId }) => ({
      id: signedId,
      type: body.webhook_type,
      status: body.webhook_code,
      objectId: body.item_id ?? body.user_id ?? body.transfer_id ?? body.identity_verification_id,
    })),
  },
)

const CREDENTIALS = /^[A-Za-z0-9_-]{1,64}:[A-Za-z0-9_-]{1,128}$/
const KEY_ID = /^[A-Za-z0-9_-]{1,64}$/
const HEX_HASH = /^[0-9a-f]{64}$/

interface Sent extends Jws {
  readonly keyId: string
}

/** What can be checked without the key: before anybody is asked, it is about this body and this time. */
function readSent(
  { rawHeaders, rawBody }: Delivery,
  { now, toleranceSeconds }: { readonly now: number; readonly toleranceSeconds: number },
): Sent | Refusal {
  const token = singleHeader(rawHeaders, HEADER)
  if (!token) return 'header_missing'
  const jws = readJws(token)
  const keyId = jws?.header.kid
  if (jws === null || typeof keyId !== 'string' || !KEY_ID.test(keyId)) return 'header_malformed'
  const { iat, request_body_sha256: bodyHash } = jws.payload
  if (!Number.isSafeInteger(iat) || typeof bodyHash !== 'string' || !HEX_HASH.test(bodyHash)) return 'header_malformed'
  if (!(Math.abs(now / 1_000 - Number(iat)) <= toleranceSeconds)) return 'timestamp_outside_window'
  // Neither is secret: the token says what the hash is.
  return hash('sha256', rawBody) === bodyHash ? { ...jws, keyId } : 'signature_mismatch'
}

interface KeyAndSecret {
  readonly key: PlaidKey | null | undefined
  readonly secret: LiveSecret
  readonly now: number
}

function checkSent(sent: Sent, { key, secret, now }: KeyAndSecret): CheckResult {
  const isInUse = key !== null && key !== undefined && (key.expiredAt === null || now < key.expiredAt)
  if (!isInUse || !isJwsSignedBy(sent, key.key)) return { refused: 'signature_mismatch' }
  // Without the signature, of which there can be many for one text.
  return { secretId: secret.id, signedId: idOfBytes(sent.signedText) }
}
