import { X509Certificate } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { deliveryOf, providerOf, readVectorFiles } from '../../testing/vectors.ts'
import { APPLE_ROOT_CA_G3 } from './apple-root.ts'
import { hasExtension } from './certificate-extensions.ts'

const { raw, fingerprint256, validTo } = new X509Certificate(APPLE_ROOT_CA_G3)

describe('the root of Apple', () => {
  it('is the one that Apple publishes', () => {
    expect(fingerprint256.replaceAll(':', '').toLowerCase()).toBe(
      '63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179',
    )
    expect(new Date(validTo).getUTCFullYear()).toBe(2039)
  })

  it('vouches for nothing but what Apple issued', async () => {
    const vector = readVectorFiles().find(({ scheme }) => scheme === 'app-store')?.cases[0]
    if (vector === undefined) throw new Error('There are no vectors of app-store')
    const verify = (settings: object) =>
      providerOf('app-store', { ...vector, settings: { ...settings } }).verify(
        deliveryOf(vector),
        vector.now * 1_000,
        fetch,
      )
    expect(await verify(vector.settings ?? {})).toHaveProperty('secretId')
    expect(await verify({})).toEqual({ refused: 'signature_mismatch' })
  })
})

describe('hasExtension', () => {
  it.each([
    ['2.5.29.14', true],
    ['2.5.29.19', true],
    ['2.5.29.15', true],
    ['2.5.29.17', false],
    // The algorithm of its key, which is no extension.
    ['1.2.840.10045.2.1', false],
    ['2.5.4.3', false],
  ])('says whether the certificate has %s: %s', (identifier, has) => {
    expect(hasExtension(raw, identifier)).toBe(has)
  })

  it('finds nothing in a certificate that is cut short, wherever that is', () => {
    for (let length = 0; length < raw.length; length += 1) {
      expect(hasExtension(raw.subarray(0, length), '2.5.29.19'), String(length)).toBe(false)
    }
  })
})
