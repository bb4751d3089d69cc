import { createSecretKey, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { Binary } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { keyUnknown, recordAltered } from '../http/error-codes.ts'
import { createEncryption, type Encryption, type Place, type Sealed } from './encryption.ts'
import type { EncryptionKeys } from './encryption-keys.ts'

const KEYS = new Map(['old', 'new', 'newer'].map((id) => [id, createSecretKey(randomBytes(32))]))

function keysOf(...ids: string[]): EncryptionKeys | null {
  const byId = new Map([...KEYS].filter(([id]) => ids.includes(id)))
  const [id = ''] = ids
  const key = byId.get(id)
  return key === undefined ? null : { first: { id, key }, byId }
}

const encryptionBy = (...ids: string[]): Encryption => createEncryption(() => keysOf(...ids))
const PLACE: Place = { collection: 'events', id: '1', field: 'raw' }

function seal(plain: Uint8Array, place = PLACE, by = encryptionBy('old')): Sealed {
  const sealed = by.seal(plain, place)
  if (sealed === null) throw new Error('Encryption is off')
  return sealed
}

function thrownBy(call: () => unknown): unknown {
  try {
    call()
    return null
  } catch (error) {
    return error
  }
}

const anyPlace = fc.record({ collection: fc.string(), id: fc.string(), field: fc.string() })
const anyBytes = fc.uint8Array({ maxLength: 2_000 })

describe('encryption at rest', () => {
  it('decrypts every value at its place, with each configured key', () => {
    fc.assert(
      fc.property(anyBytes, anyPlace, (plain, place) => {
        const sealed = seal(plain, place)
        expect(encryptionBy('new', 'old').open(sealed, place)).toEqual(Buffer.from(plain))
      }),
    )
  })

  it('keeps nothing of a value in plaintext, and encrypts equal values differently', () => {
    const plain = Buffer.from('canary-of-a-person')
    const [one, other] = [seal(plain), seal(plain)]
    expect(Buffer.from(one.text.value()).includes(plain)).toBe(false)
    expect(one.text.value()).not.toEqual(other.text.value())
    expect(one.wrapped.value()).not.toEqual(other.wrapped.value())
  })

  it('refuses a value at any other place', () => {
    fc.assert(
      fc.property(anyBytes, anyPlace, anyPlace, (plain, place, other) => {
        fc.pre(JSON.stringify(place) !== JSON.stringify(other))
        expect(recordAltered.is(thrownBy(() => encryptionBy('old').open(seal(plain, place), other)))).toBe(true)
      }),
    )
  })

  it('refuses a value with one changed bit, or without its end', () => {
    fc.assert(
      fc.property(anyBytes, fc.nat(), fc.nat({ max: 7 }), (plain, at, bit) => {
        const sealed = seal(plain)
        const text = Buffer.from(sealed.text.value())
        const changed = Buffer.from(text)
        changed[at % text.length] = (changed[at % text.length] ?? 0) ^ (1 << bit)
        for (const bytes of [changed, text.subarray(0, at % text.length)]) {
          const error = thrownBy(() => encryptionBy('old').open({ ...sealed, text: new Binary(bytes) }, PLACE))
          expect(recordAltered.is(error)).toBe(true)
        }
      }),
    )
  })

  it('says that a key is unknown: if its id is unknown, if its id has another key, and if encryption is off', () => {
    const sealed = seal(Buffer.from('body'))
    for (const by of [encryptionBy('new'), createEncryption(() => null)]) {
      const error = thrownBy(() => by.open(sealed, PLACE))
      expect(keyUnknown.is(error) && error.details).toEqual({ key: 'old' })
    }
    const another = thrownBy(() => encryptionBy('new').open({ ...sealed, key: 'new' }, PLACE))
    expect(keyUnknown.is(another) && another.details).toEqual({ key: 'new', isAnother: true })
  })

  it('reports each value that it cannot open without its key, and nothing else', () => {
    const sealed = seal(Buffer.from('body'))
    const told: string[] = []
    const by = createEncryption(
      () => keysOf('new'),
      () => void told.push('unknown'),
    )
    thrownBy(() => by.open(sealed, PLACE))
    thrownBy(() => by.pin().open({ ...sealed, key: 'new' }, PLACE))
    expect(told).toHaveLength(2)
    thrownBy(() => by.rewrap(sealed))
    const own = by.seal(Buffer.from('body'), PLACE)
    if (own === null) throw new Error('Nothing was encrypted')
    expect(by.open(own, PLACE).toString()).toBe('body')
    thrownBy(() => by.open(own, { ...PLACE, id: 'another' }))
    expect(told).toHaveLength(2)
  })

  it('rewraps a data key with the first key, and the value opens without the old one', () => {
    const sealed = seal(Buffer.from('body'))
    const rewrapped = encryptionBy('new', 'old').rewrap(sealed)
    if (rewrapped === null) throw new Error('Nothing was wrapped')
    expect(Object.keys(rewrapped)).toEqual(['key', 'wrapped'])
    expect(
      encryptionBy('new')
        .open({ ...sealed, ...rewrapped }, PLACE)
        .toString(),
    ).toBe('body')
    expect(encryptionBy('new').rewrap(rewrapped)).toBeNull()
    for (const by of [encryptionBy('newer'), createEncryption(() => null)]) {
      expect(keyUnknown.is(thrownBy(() => by.rewrap(sealed)))).toBe(true)
    }
  })
})
