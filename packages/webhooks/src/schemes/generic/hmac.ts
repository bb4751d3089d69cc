import { z } from 'zod'
import { type Delivery, singleHeader } from '../../delivery.ts'
import { jsonReader } from '../../events/event-reader.ts'
import { EFFECTS_UNKNOWN } from '../../events/permits.ts'
import { findPlainEvent } from '../../events/plain-event.ts'
import { type CommonSettings, headerName } from '../../settings/common-settings.ts'
import { couldContinueTime } from '../../signatures/could-continue-time.ts'
import { readHexKey, readTextKey } from '../../signatures/read-key.ts'
import { findSigner, hmac, isWithinTolerance, resultOf, type SignedParts } from '../../signatures/signature.ts'
import { createDecoder, decodeBase64 } from '../../signatures/signature-form.ts'
import { UNDOCUMENTED } from '../redelivery.ts'
import { type CheckResult, type CheckSignature, defineScheme } from '../scheme.ts'

const shape = {
  header: headerName,
  algorithm: z.enum(['sha1', 'sha256', 'sha384', 'sha512']).default('sha256'),
  encoding: z.enum(['hex', 'base64']).default('hex'),
  prefix: z.string().max(64).default(''),
  timestampHeader: headerName.optional(),
  signedText: z
    .string()
    .regex(/^(?:[^{}]|\{timestamp\})*\{body\}(?:[^{}]|\{timestamp\})*$/, {
      error: 'must contain {body} once, and may contain {timestamp}, but no other braces',
    })
    .optional(),
  secretEncoding: z.enum(['utf8', 'hex', 'base64']).default('utf8'),
}

/**
 * The generic scheme: an HMAC in one header, over the body or over a text made of the body and a timestamp header.
 * Its settings can describe every plain HMAC scheme. Without a timestamp a captured delivery stays valid forever, and only
 * the stored event ids protect against it.
 */
export const genericHmac = defineScheme('hmac', shape, {
  problemsOf({ signedText, timestampHeader }) {
    if (signedText === undefined || signedText.includes('{timestamp}') === (timestampHeader !== undefined)) return []
    // An unsigned timestamp protects nothing, and a signed one needs its header.
    const missing = timestampHeader === undefined
    return [
      missing ? 'signedText names a timestamp, timestampHeader is missing' : 'signedText leaves the timestamp out',
    ]
  },
  readKey(text, { secretEncoding: encoding }) {
    if (encoding === 'hex') return readHexKey(text)
    if (encoding === 'base64') return decodeBase64(text) ?? { problem: 'is not base64' }
    return readTextKey(text)
  },
  signedHeaders: ({ header, timestampHeader }) =>
    timestampHeader === undefined ? [header] : [header, timestampHeader],
  redelivery: UNDOCUMENTED,
  permits: EFFECTS_UNKNOWN,
  signsTime: ({ timestampHeader }) => timestampHeader !== undefined,
  prepare(settings, secrets): CheckSignature {
    const { header } = settings
    const decode = createDecoder(settings)
    const readTimestamp = prepareTimestamp(settings)
    const partsOf = prepareSignedText(settings)
    const isTimeJoined = settings.signedText?.includes('{timestamp}{body}') === true
    return (delivery, now): CheckResult => {
      const value = singleHeader(delivery.rawHeaders, header)
      const timestamp = readTimestamp(delivery, now)
      if (value === null) return { refused: 'header_missing' }
      if ('refused' in timestamp) return timestamp
      const signature = decode(value)
      if (signature === null) return { refused: 'header_malformed' }
      if (isTimeJoined && couldContinueTime(timestamp.text, delivery.rawBody)) return { refused: 'signature_mismatch' }
      const parts = partsOf(timestamp.text, delivery.rawBody)
      return resultOf(findSigner(secrets, [signature], { now, macOf: (key) => hmac(settings.algorithm, key, parts) }))
    }
  },
  prepareReader: jsonReader({}, (body) => findPlainEvent(body)),
})

type Settings = z.output<z.ZodObject<typeof shape>> & CommonSettings
type Timestamp = { readonly text: string } | (CheckResult & { readonly refused: string })

function prepareTimestamp(settings: Settings): (delivery: Delivery, now: number) => Timestamp {
  const { timestampHeader: name, toleranceSeconds } = settings
  if (name === undefined) return () => ({ text: '' })
  return ({ rawHeaders }, now) => {
    const text = singleHeader(rawHeaders, name)
    if (text === null) return { refused: 'header_missing' }
    return isWithinTolerance(text, toleranceSeconds, now) ? { text } : { refused: 'timestamp_outside_window' }
  }
}

/** Splits the template once, so that no delivery needs a search in it, and the body is never decoded. */
function prepareSignedText(settings: Settings): (timestamp: string, rawBody: Buffer) => SignedParts {
  const template = settings.signedText ?? (settings.timestampHeader === undefined ? '{body}' : '{timestamp}.{body}')
  const pieces = template.split(/(\{body\}|\{timestamp\})/).filter((piece) => piece !== '')
  return (timestamp, rawBody) =>
    pieces.map((piece) => (piece === '{body}' ? rawBody : piece === '{timestamp}' ? timestamp : piece))
}
