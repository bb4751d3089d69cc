import { createPublicKey, type KeyObject } from 'node:crypto'
import { isLive, type LiveSecret, MAX_CANDIDATES } from './signature.ts'

/**
 * The id of the first valid public key that verifies one of the candidates, or null. Unlike the key of a MAC, a public key
 * is not secret: the time that the search takes reveals nothing.
 */
export function findKeyHolder(
  secrets: readonly LiveSecret[],
  candidates: readonly Uint8Array[],
  { now, isSignedBy }: KeySearch,
): string | null {
  const looked = candidates.slice(0, MAX_CANDIDATES)
  const holder = secrets.find(
    (secret) => isLive(secret, now) && looked.some((signature) => isSignedBy(secret.key, signature)),
  )
  return holder?.id ?? null
}

interface KeySearch {
  /** Milliseconds. */
  readonly now: number
  readonly isSignedBy: (key: KeyObject, signature: Uint8Array) => boolean
}

/** The Ed25519 public key (RFC 8032 section 5.1.5) from its 32 bytes; null for any other length. */
export function ed25519Key(bytes: Buffer | null): KeyObject | null {
  if (bytes?.length !== 32) return null
  return createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x: bytes.toString('base64url') } })
}
