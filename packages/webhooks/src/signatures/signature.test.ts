import { createSecretKey } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { findSigner, hmac, isWithinTolerance } from './signature.ts'

const key = createSecretKey(Buffer.from('Jefe'))

describe('isWithinTolerance', () => {
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
