import { hash } from 'node:crypto'
import { onlyHeaderOf } from '../delivery.ts'
import type { CheckSignature, SchemeParts } from '../schemes/scheme.ts'
import type { SharedSettings } from '../settings/shared-settings.ts'
import { createDecoder, findSigner, hmac, type SignatureForm } from './signature.ts'

/** How a plain HMAC over the body alone is written down. */
export interface SignedBody extends SignatureForm {
  readonly algorithm: 'sha1' | 'sha256' | 'sha512'
  /** The headers that may carry the signature, in lower case; exactly one line of all of them must be there. */
  readonly headers: readonly string[]
  /** Headers that are not signed, in lower case, which the reader uses or an operator may want to see. */
  readonly readHeaders?: readonly string[]
}

type SignedBodyParts = Pick<SchemeParts<SharedSettings>, 'readKey' | 'signedHeaders' | 'signsTime' | 'prepare'>

/** The parts of every scheme that signs nothing but the body; the secret's text is the key. It signs no time and no id. */
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
 * The id of an event whose provider signs none: made of the signed bytes, so that nobody can change it without the
 * secret, and the same for every delivery of the same bytes.
 */
export function idOfBytes(signed: Uint8Array): string {
  return `sha256:${hash('sha256', signed, 'base64url')}`
}
