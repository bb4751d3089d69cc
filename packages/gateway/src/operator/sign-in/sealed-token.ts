import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { Secret } from '@oncehook/kernel/secrets/secret'

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** The purpose of a key. A text that was encrypted for one purpose cannot be decrypted for the other. */
export type SealPurpose = 'code' | 'session'

/** A random text, and its purpose. It is never stored, and its key encrypts only one text. */
export interface SealKey {
  readonly secret: string
  readonly purpose: SealPurpose
}

/** Encrypts an operator's token with a random text. Without that text, nobody can read the result. */
export function sealToken(token: Secret, key: SealKey): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, deriveKey(key), nonce)
  const sealed = Buffer.concat([cipher.update(token.reveal(), 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed])
}

/** Decrypts a token. Null if it was not encrypted with this text for this purpose, or was changed. */
export function openToken(sealed: Uint8Array, key: SealKey): Secret | null {
  const nonce = sealed.subarray(0, NONCE_BYTES)
  const tag = sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)
  if (tag.length < TAG_BYTES) return null
  const decipher = createDecipheriv(CIPHER, deriveKey(key), nonce).setAuthTag(tag)
  const opened = decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES))
  try {
    return new Secret(Buffer.concat([opened, decipher.final()]).toString())
  } catch {
    return null
  }
}

function deriveKey({ secret, purpose }: SealKey): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret, '', `oncehook sign-in ${purpose}`, KEY_BYTES))
}
