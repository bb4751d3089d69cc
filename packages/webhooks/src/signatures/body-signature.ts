import { onlyHeaderOf, singleHeader } from '../delivery.ts'
import type { SchemeParts } from '../schemes/scheme.ts'
import type { CommonSettings } from '../settings/common-settings.ts'
import { readTextKey } from './read-key.ts'
import { findSigner, hmac, isWithinTolerance, type LiveSecret, resultOf } from './signature.ts'
import { createDecoder, type SignatureForm } from './signature-form.ts'
import { couldContinueTime } from './signed-text.ts'

/** How a header carries a signature over the body, and over a time if another header has one. All names are in lower case. */
interface BodySignature<Settings> extends SignatureForm {
  /** Default: sha256. */
  readonly algorithm?: 'sha1' | 'sha256' | 'sha512'
  /** The headers that may carry the signature. Exactly one of these lines must be present. */
  readonly headers: readonly string[]
  /** The header of the time. Default: no time is signed. */
  readonly timestampHeader?: string | undefined
  /** Headers that are not signed but that the reader uses or an operator may want to see. */
  readonly readHeaders?: readonly string[]
  /** The signed text before the body. Default: the timestamp. */
  readonly before?: (timestamp: string, settings: Settings) => string
  /** Converts the timestamp of a provider to seconds, ten digits. An invalid one stays invalid. */
  readonly toSeconds?: (timestamp: string) => string
  /** Finds the secret that made the signature. Default: by HMAC. */
  readonly findSecret?: FindSecret
}

/** The id of the valid secret that made a signature; null if none did. */
export type FindSecret = (secrets: readonly LiveSecret[], presented: PresentedSignature) => string | null

/** A signature, and the content that it should cover. */
interface PresentedSignature {
  readonly signature: Buffer
  /** The signed text before the body. */
  readonly text: string
  readonly rawBody: Buffer
  /** Milliseconds. */
  readonly now: number
}

/** The parts of a scheme that its signature decides. */
export type SignatureParts<Settings = CommonSettings> = Pick<
  SchemeParts<Settings>,
  'readKey' | 'headerFamilies' | 'signedHeaders' | 'signsTime' | 'prepare'
>

/** The parts of every scheme that signs the body, but no id. By default the text of the secret is the key. */
export function bodySignature<Settings extends CommonSettings = CommonSettings>(
  spec: BodySignature<Settings>,
): SignatureParts<Settings> {
  const { algorithm = 'sha256', headers, timestampHeader, readHeaders = [], before = same, toSeconds = same } = spec
  const timeHeaders = timestampHeader === undefined ? [] : [timestampHeader]
  const signsTime = timestampHeader !== undefined
  const decode = createDecoder(spec)
  const findByMac: FindSecret = (secrets, { signature, text, rawBody, now }) => {
    if (signsTime && couldContinueTime(text, rawBody)) return null
    const parts = [text, rawBody]
    return findSigner(secrets, [signature], { now, macOf: (key) => hmac(algorithm, key, parts) })
  }
  const { findSecret = findByMac } = spec
  const timestampOf = (rawHeaders: readonly string[]): string | null =>
    timestampHeader === undefined ? '' : singleHeader(rawHeaders, timestampHeader)
  return {
    readKey: readTextKey,
    headerFamilies: headers.map((header) => [header, ...timeHeaders]),
    signedHeaders: () => [...headers, ...timeHeaders, ...readHeaders],
    signsTime: () => signsTime,
    prepare(settings, secrets) {
      return ({ rawHeaders, rawBody }, now) => {
        const value = onlyHeaderOf(rawHeaders, headers)
        const timestamp = timestampOf(rawHeaders)
        if (value === null || timestamp === null) return { refused: 'header_missing' }
        if (signsTime && !isWithinTolerance(toSeconds(timestamp), settings.toleranceSeconds, now))
          return { refused: 'timestamp_outside_window' }
        const signature = decode(value)
        if (signature === null) return { refused: 'header_malformed' }
        return resultOf(findSecret(secrets, { signature, text: before(timestamp, settings), rawBody, now }))
      }
    },
  }
}

function same(text: string): string {
  return text
}
