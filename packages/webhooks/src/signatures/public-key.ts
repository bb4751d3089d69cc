import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import type { FindSecret } from './body-signature.ts'
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

/** Finds the public key of a signature over a text and the body. `algorithm` is the hash; null for Ed25519. */
export function findByPublicKey(algorithm: 'sha256' | null): FindSecret {
  return (secrets, { signature, text, rawBody, now }) => {
    const bytes = Buffer.concat([Buffer.from(text), rawBody])
    return findKeyHolder(secrets, [signature], {
      now,
      isSignedBy: (key, candidate) => verify(algorithm, bytes, key, candidate),
    })
  }
}

/** The public key in one of the forms that node:crypto reads; null if there is none. */
export function publicKeyOf(form: Parameters<typeof createPublicKey>[0]): KeyObject | null {
  try {
    return createPublicKey(form)
  } catch {
    return null
  }
}

/** The Ed25519 public key (RFC 8032 section 5.1.5) from its 32 bytes; null for any other length. */
export function ed25519Key(bytes: Buffer | null): KeyObject | null {
  if (bytes?.length !== 32) return null
  return createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x: bytes.toString('base64url') } })
}
