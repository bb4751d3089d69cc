import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto'
import { Binary } from 'mongodb'
import { keyUnknown, recordAltered } from '../http/error-codes.ts'
import type { EncryptionKeys } from './encryption-keys.ts'

export interface WrappedKey {
  readonly key: string
  /** The data key of this value, wrapped. */
  readonly wrapped: Binary
}

export interface Sealed extends WrappedKey {
  /** Nonce, ciphertext and tag. */
  readonly text: Binary
}

/** Where a value is stored. It can be opened nowhere else: one that was copied to another record is refused. */
export interface Place {
  readonly collection: string
  readonly id: string
  readonly field: string
}

/**
 * Encryption at rest, by the keys that count now.
 *
 * Each value has a data key: 32 random bytes that encrypt this value alone by AES-256-GCM, with its place as additional data. The
 * data key is wrapped by a key of the settings by AES-256 key wrap (NIST SP 800-38F, RFC 3394), which needs no nonce. With a key of
 * the settings and random nonces in GCM, 2^32 values would be all that one key may encrypt (NIST SP 800-38D, section 8.3): at
 * 5,000 deliveries a second ten days. And a key is changed by rewrapping data keys, without reading a body.
 */
export interface Encryption {
  /** The id of the key that encrypts; null: nothing is encrypted. */
  readonly firstKey: string | null
  readonly keyIds: readonly string[]
  /** Encrypts a value for its place; null where encryption is off. */
  seal(plain: Uint8Array, place: Place): Sealed | null
  /**
   * Decrypts a value.
   * @throws keyUnknown if there is no key with that id, or another one; recordAltered if the value does not belong to
   * this place, or was changed
   */
  open(sealed: Sealed, place: Place): Buffer
  /**
   * The data key of a value, wrapped by the first key; null if the first key already wraps it.
   * @throws keyUnknown, recordAltered if it cannot be a wrapped key
   */
  rewrap(sealed: WrappedKey): WrappedKey | null
  /** The same with the keys that count now, whatever the file says later. */
  pin(): Encryption
}

/**
 * Creates the encryption; `keys` gives the keys that count now, null while encryption is off. `onKeyUnknown` hears of each value that
 * cannot be opened without its key.
 */
export function createEncryption(
  keys: () => EncryptionKeys | null,
  onKeyUnknown: () => void = () => undefined,
): Encryption {
  return {
    get firstKey() {
      return keys()?.first.id ?? null
    },
    get keyIds() {
      return [...(keys()?.byId.keys() ?? [])]
    },
    seal(plain, place) {
      const first = keys()?.first
      if (first === undefined) return null
      const random = randomBytes(DATA_KEY_BYTES + NONCE_BYTES)
      const dataKey = random.subarray(0, DATA_KEY_BYTES)
      const nonce = random.subarray(DATA_KEY_BYTES)
      const cipher = createCipheriv('aes-256-gcm', dataKey, nonce, { authTagLength: TAG_BYTES })
      cipher.setAAD(additionalData(place))
      const text = Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
      return { key: first.id, wrapped: wrap(dataKey, first.key), text: new Binary(text) }
    },
    open(sealed, place) {
      // The database may hold anything.
      if (!isSealed(sealed)) throw recordAltered({ ...place })
      try {
        return decrypt(sealed.text.value(), { dataKey: unwrap(sealed, keys()), place })
      } catch (error) {
        if (keyUnknown.is(error)) onKeyUnknown()
        throw error
      }
    },
    rewrap(sealed) {
      const known = keys()
      const dataKey = unwrap(sealed, known)
      if (known === null || sealed.key === known.first.id) return null
      return { key: known.first.id, wrapped: wrap(dataKey, known.first.key) }
    },
    pin() {
      const now = keys()
      return createEncryption(() => now, onKeyUnknown)
    },
  }
}

export function isSealed(stored: unknown): stored is Sealed {
  return (
    typeof stored === 'object' &&
    stored !== null &&
    'key' in stored &&
    typeof stored.key === 'string' &&
    'wrapped' in stored &&
    stored.wrapped instanceof Binary &&
    'text' in stored &&
    stored.text instanceof Binary
  )
}

/** Whether a stored value was written as an encrypted one. A malformed part shows when it is opened or rewrapped. */
export function wasSealed(stored: unknown): stored is WrappedKey {
  return typeof stored === 'object' && stored !== null && 'wrapped' in stored
}

const DATA_KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
// RFC 3394 adds 8 bytes.
const WRAPPED_BYTES = DATA_KEY_BYTES + 8
const WRAP = 'id-aes256-wrap'
// The initial value of RFC 3394, section 2.2.3.1: by it a wrong key shows.
const WRAP_CHECK = Buffer.alloc(8, 0xa6)

function additionalData({ collection, id, field }: Place): Buffer {
  return Buffer.from(JSON.stringify([collection, id, field]))
}

function wrap(dataKey: Uint8Array, key: KeyObject): Binary {
  const cipher = createCipheriv(WRAP, key, WRAP_CHECK)
  return new Binary(Buffer.concat([cipher.update(dataKey), cipher.final()]))
}

function unwrap({ key: id, wrapped }: WrappedKey, keys: EncryptionKeys | null): Buffer {
  // The database may hold anything, and no key opens what was never wrapped.
  if (typeof id !== 'string' || !(wrapped instanceof Binary) || wrapped.length() !== WRAPPED_BYTES) {
    throw recordAltered({ member: 'wrapped' })
  }
  const key = keys?.byId.get(id)
  if (key === undefined) throw keyUnknown({ key: id })
  try {
    const decipher = createDecipheriv(WRAP, key, WRAP_CHECK)
    return Buffer.concat([decipher.update(wrapped.value()), decipher.final()])
  } catch (cause) {
    throw keyUnknown({ key: id, isAnother: true }, { cause })
  }
}

interface Decryption {
  readonly dataKey: Uint8Array
  readonly place: Place
}

function decrypt(text: Uint8Array, { dataKey, place }: Decryption): Buffer {
  try {
    const options = { authTagLength: TAG_BYTES }
    const decipher = createDecipheriv('aes-256-gcm', dataKey, text.subarray(0, NONCE_BYTES), options)
    decipher.setAAD(additionalData(place))
    decipher.setAuthTag(text.subarray(-TAG_BYTES))
    return Buffer.concat([decipher.update(text.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()])
  } catch (cause) {
    throw recordAltered({ collection: place.collection, id: place.id, field: place.field }, { cause })
  }
}
