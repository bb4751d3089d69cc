import { createPrivateKey, createPublicKey, createSecretKey, type KeyObject } from 'node:crypto'
import { Secret, secretProblem } from './secret.ts'
import type { ServiceKey } from './service-keys.ts'

const MIN_SECRET_LENGTH = 32

/**
 * Reads a key of service tokens: a shared secret, or an Ed25519 key in PEM. Returns the problem if it is none, as the rest
 * of a sentence without the text.
 */
export function parseServiceKey(text: string): ServiceKey | string {
  // The decoder's replacement character. Accepting it would silently weaken the secret.
  if (text.includes('\uFFFD')) return 'is not UTF-8 text'
  if (text.includes('-----BEGIN')) return parseKeyOfPair(text)
  return parseServiceSecret(text)
}

/** Reads a shared secret. Returns the problem if it is too weak, as `parseServiceKey` does. */
export function parseServiceSecret(text: string): ServiceKey | string {
  return secretProblem(text, MIN_SECRET_LENGTH) ?? keyOfSecret(new Secret(text))
}

/** The key of a shared secret. */
export function keyOfSecret(secret: Secret): ServiceKey {
  const key = createSecretKey(secret.reveal(), 'utf8')
  return { algorithm: 'HS256', signing: key, verifying: key }
}

/** Why a service that only verifies must not have this key. Null if it may. `service` begins the advice. */
export function privateKeyProblem({ algorithm, signing }: ServiceKey, service: string): string | null {
  if (algorithm !== 'EdDSA' || signing === null) return null
  return `is a private key: ${service} needs the public key (openssl pkey -in <file> -pubout)`
}

function parseKeyOfPair(pem: string): ServiceKey | string {
  const isPrivate = pem.includes('PRIVATE KEY-----')
  const key = parsePem(pem, isPrivate)
  if (key?.asymmetricKeyType !== 'ed25519') return 'is not an Ed25519 key (openssl genpkey -algorithm ed25519)'
  return isPrivate
    ? { algorithm: 'EdDSA', signing: key, verifying: createPublicKey(key) }
    : { algorithm: 'EdDSA', signing: null, verifying: key }
}

function parsePem(pem: string, isPrivate: boolean): KeyObject | null {
  try {
    return isPrivate ? createPrivateKey(pem) : createPublicKey(pem)
  } catch {
    return null
  }
}
