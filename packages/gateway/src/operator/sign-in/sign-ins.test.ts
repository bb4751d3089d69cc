import { Secret } from '@oncehook/kernel/secrets/secret'
import { describe, expect, it } from 'vitest'
import { openToken, sealToken } from './sign-ins.ts'

const KEY = { secret: 'a random text', purpose: 'code' } as const
const token = new Secret('the-token-of-alice')
const sealed = sealToken(token, KEY)

describe('a sealed token', () => {
  it('is opened by its text and its purpose together', () => {
    expect(openToken(sealed, KEY)?.reveal()).toBe(token.reveal())
    expect(openToken(sealed, { ...KEY, purpose: 'session' })).toBeNull()
    expect(openToken(sealed, { ...KEY, secret: 'another text' })).toBeNull()
  })

  it('is not opened if any byte of it has changed, or is missing', () => {
    for (const index of sealed.keys()) {
      const changed = Buffer.from(sealed)
      changed[index] = (changed[index] ?? 0) ^ 1
      expect(openToken(changed, KEY)).toBeNull()
      expect(openToken(sealed.subarray(0, index), KEY)).toBeNull()
    }
  })

  it('does not show the token, and looks different each time', () => {
    expect(sealed.toString('latin1')).not.toContain(token.reveal())
    expect(sealToken(token, KEY).equals(sealed)).toBe(false)
  })
})
