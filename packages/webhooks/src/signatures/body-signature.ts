import { onlyHeaderOf } from '../delivery.ts'
import type { SchemeParts } from '../schemes/scheme.ts'
import type { CommonSettings } from '../settings/common-settings.ts'
import { readTextKey } from './read-key.ts'
import { findSigner, hmac, resultOf } from './signature.ts'
import { createDecoder, type SignatureForm } from './signature-form.ts'

/** How a header carries an HMAC over the body. */
interface BodySignature<Settings> extends SignatureForm {
  readonly algorithm: 'sha1' | 'sha256' | 'sha512'
  /** The headers that may carry the signature, in lower case. Exactly one of these lines must be present. */
  readonly headers: readonly string[]
  /** Headers that are not signed but that the reader uses or an operator may want to see, in lower case. */
  readonly readHeaders?: readonly string[]
  /** The signed text before the body. Default: none. */
  readonly before?: (settings: Settings) => string
}

type BodySignatureParts<Settings> = Pick<
  SchemeParts<Settings>,
  'readKey' | 'headerFamilies' | 'signedHeaders' | 'signsTime' | 'prepare'
>

/** The parts of every scheme that signs the body, but no time and no id. The text of the secret is the key. */
export function bodySignature<Settings = CommonSettings>(spec: BodySignature<Settings>): BodySignatureParts<Settings> {
  const { algorithm, headers, readHeaders = [], before } = spec
  const decode = createDecoder(spec)
  return {
    readKey: readTextKey,
    headerFamilies: headers.map((header) => [header]),
    signedHeaders: () => [...headers, ...readHeaders],
    signsTime: () => false,
    prepare(settings, secrets) {
      const first = before === undefined ? [] : [before(settings)]
      return ({ rawHeaders, rawBody }, now) => {
        const value = onlyHeaderOf(rawHeaders, headers)
        if (value === null) return { refused: 'header_missing' }
        const signature = decode(value)
        if (signature === null) return { refused: 'header_malformed' }
        const parts = [...first, rawBody]
        return resultOf(findSigner(secrets, [signature], { now, macOf: (key) => hmac(algorithm, key, parts) }))
      }
    },
  }
}
