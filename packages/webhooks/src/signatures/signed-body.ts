import { hash } from 'node:crypto'
import { onlyHeaderOf } from '../delivery.ts'
import type { CheckSignature, SchemeParts } from '../schemes/scheme.ts'
import type { SharedSettings } from '../settings/shared-settings.ts'
import { createDecoder, findSigner, hmac, type SignatureForm } from './signature.ts'

/** How a header carries an HMAC over the body alone. */
export interface SignedBody extends SignatureForm {
  readonly algorithm: 'sha1' | 'sha256' | 'sha512'
  /** The headers that may carry the signature, in lower case. Exactly one of these lines must be present. */
  readonly headers: readonly string[]
  /** Headers that are not signed but that the reader uses or an operator may want to see, in lower case. */
  readonly readHeaders?: readonly string[]
}

type SignedBodyParts = Pick<SchemeParts<SharedSettings>, 'readKey' | 'signedHeaders' | 'signsTime' | 'prepare'>

/** The parts of every scheme that signs the body, but no time and no id. The text of the secret is the key. */
export function signedBody({ algorithm, headers, readHeaders = [], ...form }: SignedBody): SignedBodyParts {
  const decode = createDecoder(form)
  return {
    readKey: (text) => Buffer.from(text, 'utf8'),
    signedHeaders: () => [...headers, ...readHeaders],
    signsTime: () => false,
    prepare(_, secrets): CheckSignature {
      return ({ rawHeaders, rawBody }, now) => {
        const value = onlyHeaderOf(rawHeaders, headers)
        if (value === null) return { refused: 'header_missing' }
        const signature = decode(value)
        if (signature === null) return { refused: 'header_malformed' }
        const secretId = findSigner(secrets, [signature], { now, macOf: (key) => hmac(algorithm, key, [rawBody]) })
        return secretId === null ? { refused: 'signature_mismatch' } : { secretId }
      }
    },
  }
}

/**
 * The id of an event whose provider signs no id: a hash of the signed bytes. Nobody can change it without the secret, and
 * every delivery of the same bytes has the same id.
 */
export function idOfBytes(signed: Uint8Array): string {
  return `sha256:${hash('sha256', signed, 'base64url')}`
}
