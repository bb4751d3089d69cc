import { type KeyObject, verify } from 'node:crypto'
import type { JsonObject } from '../events/json-object.ts'
import { readUnproved } from '../events/unproved-object.ts'

/** A signed object (JWS, RFC 7515) in its compact form. Nobody has proved it yet. */
export interface Jws {
  readonly header: JsonObject
  readonly payload: JsonObject
  readonly signedText: Buffer
  readonly signature: Buffer
}

const SIGNATURE_BYTES = 64

/** Reads a JWS that is signed by ES256 and no other algorithm; null for any other text. */
export function readJws(text: string): Jws | null {
  const [header = '', payload = '', signed = '', ...more] = text.split('.', 4)
  const fields = readJwsPart(header)
  const content = readJwsPart(payload)
  const signature = decodeUrl(signed)
  if (more.length > 0 || fields === null || content === null || signature?.length !== SIGNATURE_BYTES) return null
  if (fields.alg !== 'ES256' || fields.crit !== undefined) return null
  return { header: fields, payload: content, signedText: Buffer.from(`${header}.${payload}`), signature }
}

/** The object in a part of a JWS; null if there is none. */
export function readJwsPart(text: string): JsonObject | null {
  const bytes = decodeUrl(text)
  return bytes === null ? null : readUnproved(bytes)
}

/** The bytes of base64url without padding, or null for anything else. */
function decodeUrl(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.length > 0 && bytes.toString('base64url') === text ? bytes : null
}

/** Whether a key on P-256 has signed a JWS. */
export function isJwsSignedBy(
  { signedText, signature }: Pick<Jws, 'signedText' | 'signature'>,
  key: KeyObject,
): boolean {
  if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') return false
  return verify('sha256', signedText, { key, dsaEncoding: 'ieee-p1363' }, signature)
}
