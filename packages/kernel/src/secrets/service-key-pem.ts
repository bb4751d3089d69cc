// Keys of service tokens as texts. Apart from their settings, because `@oncehook/handler` contains this code, and none for settings.
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'

const MOST_KEYS = 5
const MAKE_KEYS = 'npm run oncehook -- keys new <folder>'
const PUBLIC_KEY = /-----BEGIN PUBLIC KEY-----[^-]+-----END PUBLIC KEY-----/g

/** Reads a private key (PKCS #8, PEM). Returns the problem if it is none, as the rest of a sentence without the text. */
export function parsePrivateKey(pem: string): KeyObject | string {
  const key = pem.includes('PRIVATE KEY-----') ? attempt(() => createPrivateKey(pem)) : null
  return key?.asymmetricKeyType === 'ed25519' ? key : `is no private Ed25519 key in PEM (${MAKE_KEYS})`
}

/**
 * Reads one to five public keys (SPKI, PEM, one after the other), of which each one verifies. Returns the problem if it cannot, as
 * the rest of a sentence without the text.
 */
export function parsePublicKeys(pem: string): readonly KeyObject[] | string {
  if (pem.includes('PRIVATE KEY-----')) return 'is a private key: give it the public one (openssl pkey -pubout)'
  const blocks = pem.match(PUBLIC_KEY) ?? []
  const keys = blocks.map((block) => attempt(() => createPublicKey(block)))
  const isRight = pem.replaceAll(PUBLIC_KEY, '').trim() === '' && keys.length >= 1 && keys.length <= MOST_KEYS
  const right = keys.filter((key) => key?.asymmetricKeyType === 'ed25519') as KeyObject[]
  if (isRight && right.length === keys.length) return right
  return `must be one to ${MOST_KEYS} public Ed25519 keys in PEM, one after the other (${MAKE_KEYS})`
}

function attempt(read: () => KeyObject): KeyObject | null {
  try {
    return read()
  } catch {
    return null
  }
}
