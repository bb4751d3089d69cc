import { createPrivateKey, type KeyObject } from 'node:crypto'
import { SigningError } from './signer.ts'

/**
 * The private key in a secret, PEM (PKCS #8), of the kind the scheme signs with.
 * @throws SigningError when it is none, or of another kind
 */
export function readPrivateKey(secret: string, kind: 'ed25519' | 'ec' | 'rsa'): KeyObject {
  const key = keyOf(secret)
  if (key?.asymmetricKeyType === kind) return key
  throw new SigningError(`The secret is not the PEM of a private key (${kind}): the provider keeps the private key`)
}

function keyOf(pem: string): KeyObject | null {
  try {
    return createPrivateKey(pem)
  } catch {
    return null
  }
}
