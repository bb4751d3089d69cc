import { type KeyObject, verify } from 'node:crypto'
import { z } from 'zod'
import { type Delivery, headerLines, singleHeader } from '../../delivery.ts'
import { jsonReader, type PrepareReader } from '../../events/event-reader.ts'
import { isEventText } from '../../events/event-text.ts'
import { EFFECTS_UNKNOWN } from '../../events/permits.ts'
import { findPlainEvent, findStrictEvent } from '../../events/plain-event.ts'
import type { CommonSettings } from '../../settings/common-settings.ts'
import { ed25519Key, findKeyHolder } from '../../signatures/public-key.ts'
import { findSigner, hmac, isWithinTolerance, type LiveSecret, type SignedParts } from '../../signatures/signature.ts'
import { decodeBase64 } from '../../signatures/signature-form.ts'
import { type CheckResult, defineScheme, type ReadKey } from '../scheme.ts'

const shape = { shape: z.literal('standard').optional() }

/** The headers of Standard Webhooks that belong together, under both names, in lower case. */
export const STANDARD_FAMILIES = ['webhook', 'svix'].map((family) =>
  ['id', 'timestamp', 'signature'].map((part) => `${family}-${part}`),
)

export const STANDARD_HEADERS = STANDARD_FAMILIES.flat()

/**
 * Standard Webhooks v1 and v1a (the specification at github.com/standard-webhooks/standard-webhooks), also under the
 * `svix-` header names: HMAC-SHA256 or Ed25519 over id, timestamp and body, joined by full stops. Each secret has one
 * version, `whsec_` v1 and `whpk_` v1a: signatures of another version in the list are ignored.
 */
export const standardWebhooks = defineScheme('standard-webhooks', shape, {
  readKey: readStandardKey,
  headerFamilies: STANDARD_FAMILIES,
  signedHeaders: () => STANDARD_HEADERS,
  redelivery: { hours: 120, source: 'Svix: an endpoint is disabled after 120 hours; the specification suggests 76' },
  permits: EFFECTS_UNKNOWN,
  refusesUnreadable: ({ shape, read }) => shape === undefined && read?.type === undefined,
  signsTime: () => true,
  prepare: ({ toleranceSeconds }, secrets) => prepareStandardCheck(toleranceSeconds, secrets),
  prepareReader: (settings) => readerOf(settings)(settings),
})

function readerOf({ shape, read }: { readonly shape?: 'standard' | undefined } & CommonSettings): PrepareReader {
  if (shape === 'standard') return readStandard
  return read?.type === undefined ? readPlain : readMapped
}

const readPlain = jsonReader({}, findStrictEvent)
const readMapped = jsonReader({}, (body, _, { signedId }) => ({ ...findPlainEvent(body), id: signedId }))
const readStandard = jsonReader({}, (body, _, { signedId }) =>
  findPlainEvent({ ...body, id: signedId, data: { object: body.data } }),
)

/** Reads a secret of Standard Webhooks: `whsec_` and a key in base64, or `whpk_` and an Ed25519 public key in base64. */
export function readStandardKey(text: string): ReadKey {
  if (text.startsWith('whsk_')) return { problem: 'is a private key, its public half (whpk_) is needed' }
  if (text.startsWith('whpk_')) {
    const key = ed25519Key(decodeBase64(text.slice('whpk_'.length)))
    return key === null ? { problem: 'is not whpk_ followed by the base64 of 32 bytes' } : { key, kind: 'v1a' }
  }
  return decodeBase64(text.replace(/^whsec_/, '')) ?? { problem: 'is not whsec_ followed by base64' }
}

/** The check of Standard Webhooks with secrets that `readStandardKey` read. */
export function prepareStandardCheck(
  toleranceSeconds: number,
  secrets: readonly LiveSecret[],
): (delivery: Delivery, now: number) => CheckResult {
  const symmetric = secrets.filter(({ kind }) => kind !== 'v1a')
  const asymmetric = secrets.filter(({ kind }) => kind === 'v1a')
  return (delivery, now) => {
    const signed = readHeaders(delivery)
    if (typeof signed === 'string') return { refused: signed }
    const { id, timestamp, list } = signed
    if (!isWithinTolerance(timestamp, toleranceSeconds, now)) return { refused: 'timestamp_outside_window' }
    const parts: SignedParts = [`${id}.${timestamp}.`, delivery.rawBody]
    const macOf = (key: KeyObject): string => hmac('sha256', key, parts)
    const secretId =
      findSigner(symmetric, signaturesOf(list, 'v1,'), { now, macOf }) ??
      (asymmetric.length === 0 ? null : findAsymmetric(asymmetric, { list, parts, now }))
    return secretId === null ? { refused: 'signature_mismatch' } : { secretId, signedId: id }
  }
}

interface AsymmetricSearch {
  readonly list: string
  readonly parts: SignedParts
  readonly now: number
}

function findAsymmetric(secrets: readonly LiveSecret[], { list, parts, now }: AsymmetricSearch): string | null {
  const text = Buffer.concat(parts.map((part) => Buffer.from(part)))
  const isSignedBy = (key: KeyObject, signature: Uint8Array): boolean => verify(null, text, key, signature)
  const most = Math.max(FEWEST_CANDIDATES, Math.floor(MOST_HASHED_BYTES / (text.length * secrets.length)))
  return findKeyHolder(secrets, signaturesOf(list, 'v1a,').slice(0, most), { now, isSignedBy })
}

// Each signature is checked with each key, which hashes the whole text again. A sender that rotates its key lists two.
const MOST_HASHED_BYTES = 4_194_304
const FEWEST_CANDIDATES = 2

interface SignedHeaders {
  readonly id: string
  readonly timestamp: string
  readonly list: string
}

// The key of a task of Oncehook's gateway has the id of an event in it, so it can be longer than one: provider, id and handler.
const TASK_KEY = /^[a-z0-9-]{1,63}:[\x21-\x7e]{1,472}:[a-z0-9-]{1,63}$/

function readHeaders({ rawHeaders }: Delivery): SignedHeaders | 'header_missing' | 'header_malformed' {
  const family = headerLines(rawHeaders, 'webhook-signature').length > 0 ? 'webhook' : 'svix'
  const id = singleHeader(rawHeaders, `${family}-id`)
  const timestamp = singleHeader(rawHeaders, `${family}-timestamp`)
  const list = singleHeader(rawHeaders, `${family}-signature`)
  if (!id || !timestamp || !list) return 'header_missing'
  // A full stop in the id would let one signature fit two splits of the signed text.
  if (id.includes('.') || !(isEventText(id) || TASK_KEY.test(id))) return 'header_malformed'
  return { id, timestamp, list }
}

function signaturesOf(list: string, version: string): Buffer[] {
  return list
    .split(' ')
    .filter((item) => item.startsWith(version))
    .map((item) => decodeBase64(item.slice(version.length)))
    .filter((bytes) => bytes !== null)
}
