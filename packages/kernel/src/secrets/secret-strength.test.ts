import { randomBytes, randomInt } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { isWeakSecret } from './secret.ts'

describe('isWeakSecret', () => {
  it.each([
    'ab'.repeat(16),
    'abcdefgh'.repeat(4),
    'abcdefghijklmnopqrstuvwxyz0123456789',
    'aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbb',
    '00000000000000000000000000000001',
    'secret'.repeat(6),
  ])('says so of %s', (text) => {
    expect(isWeakSecret(text)).toBe(true)
  })

  it('says so of no random text', () => {
    for (let n = 0; n < 2_000; n += 1) {
      expect(isWeakSecret(randomBytes(16).toString('hex'))).toBe(false)
      expect(isWeakSecret(randomBytes(24).toString('base64'))).toBe(false)
      expect(isWeakSecret(Array.from({ length: 32 }, () => randomInt(10)).join(''))).toBe(false)
    }
  })

  it('says so of no sentence', () => {
    expect(isWeakSecret('a service token for this test only')).toBe(false)
  })
})
