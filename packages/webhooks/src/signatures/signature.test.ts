import { createSecretKey } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkTimedHmac, decodeHex, findSigner, hmac, isWithinTolerance, type SignedParts } from './signature.ts'
import { decodeBase64 } from './signature-form.ts'

const key = createSecretKey(Buffer.from('Jefe'))

describe('hmac', () => {
  it('returns the HMAC-SHA-256 of RFC 4231, test case 2, however the text is split', () => {
    const hexOf = (parts: SignedParts): string => Buffer.from(hmac('sha256', key, parts), 'latin1').toString('hex')
    const expected = '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843'
    expect(hexOf(['what do ya want for nothing?'])).toBe(expected)
    expect(hexOf(['what do ya ', Buffer.from('want for nothing?')])).toBe(expected)
  })
})

describe('decodeHex', () => {
  it('decodes text that was encoded in lower case', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1 }), (bytes) => {
        expect(decodeHex(Buffer.from(bytes).toString('hex'))).toEqual(Buffer.from(bytes))
      }),
    )
  })

  it.each(['', 'a', 'abc', 'AB', '0x', 'ab ', ' ab', 'ab\n', 'gg', 'é0'])('gives null for %j', (text) => {
    expect(decodeHex(text)).toBeNull()
  })
})

describe('decodeBase64', () => {
  it('decodes encoded text, and returns null for every other text', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1 }), (bytes) => {
        expect(decodeBase64(Buffer.from(bytes).toString('base64'))).toEqual(Buffer.from(bytes))
      }),
    )
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Za-z0-9+/=_-]{0,12}$/), (text) => {
        const bytes = decodeBase64(text)
        if (bytes !== null) expect(bytes.toString('base64')).toBe(text)
      }),
    )
  })

  it.each(['', '=', '====', 'A', 'AA', 'AAA', 'AB==', 'AAB=', 'AA==\n', 'AA= =', 'A-_A', 'AAAA====', 'é==='])(
    'gives null for %j',
    (text) => {
      expect(decodeBase64(text)).toBeNull()
    },
  )
})

describe('checkTimedHmac', () => {
  const now = 1_760_000_000_000
  const signed = ['1760000000.', Buffer.from('{}')]
  const check = { signed, secrets: [{ id: 'one', key, notAfter: null }], toleranceSeconds: 300, now }
  const right = Buffer.from(hmac('sha256', key, signed), 'latin1').toString('hex')

  it.each([
    ['is accepted, whatever is beside it', '1760000000', ['', '0', 'AB', 'zz', '00ff', right], { secretId: 'one' }],
    ['is refused in upper case', '1760000000', [right.toUpperCase()], { refused: 'signature_mismatch' }],
    ['is refused if it is cut', '1760000000', [right.slice(0, -2)], { refused: 'signature_mismatch' }],
    ['is refused if there is none', '1760000000', [], { refused: 'signature_mismatch' }],
    ['is refused after its time', '1759999699', [right], { refused: 'timestamp_outside_window' }],
    ['is refused before its time', '1760000301', [right], { refused: 'timestamp_outside_window' }],
  ] as const)('a signature %s', (...[, timestamp, signatures, result]) => {
    expect(checkTimedHmac({ ...check, timestamp, signatures })).toEqual(result)
  })
})

describe('isWithinTolerance', () => {
  it('is a window of both sides, its edges included', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 2_000 }),
        fc.integer({ min: -3_000_000, max: 3_000_000 }),
        (seconds, ms) => {
          const now = 1_760_000_000_000 + ms
          expect(isWithinTolerance('1760000000', seconds, now)).toBe(Math.abs(ms) <= seconds * 1000)
        },
      ),
    )
  })

  it('accepts only ten digits as a time', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        fc.pre(!/^[0-9]{10}$/.test(text))
        expect(isWithinTolerance(text, Number.MAX_SAFE_INTEGER, 0)).toBe(false)
      }),
    )
  })

  it('is never met if the clock returns no time', () => {
    expect(isWithinTolerance('1760000000', 300, Number.NaN)).toBe(false)
  })
})

describe('findSigner', () => {
  const mac = Buffer.from(hmac('sha256', key, ['x']), 'latin1')
  const secrets = [
    { id: 'first', key, notAfter: null },
    { id: 'second', key: createSecretKey(Buffer.from('other')), notAfter: 1_000 },
  ]

  it('computes a MAC for every live secret, also after one has matched', () => {
    const asked: string[] = []
    const macOf = (one: (typeof secrets)[number]['key']): string => {
      asked.push(secrets.find((secret) => secret.key === one)?.id ?? '')
      return hmac('sha256', one, ['x'])
    }
    expect(findSigner(secrets, [mac], { now: 999, macOf })).toBe('first')
    expect(asked).toEqual(['first', 'second'])
    expect(findSigner(secrets, [mac], { now: 1_000, macOf })).toBe('first')
    expect(asked).toEqual(['first', 'second', 'first'])
  })

  it('matches no candidate of another length', () => {
    const candidates = [Buffer.alloc(0), mac.subarray(0, 16), Buffer.concat([mac, mac])]
    expect(findSigner(secrets, candidates, { now: 0, macOf: (one) => hmac('sha256', one, ['x']) })).toBeNull()
  })
})
