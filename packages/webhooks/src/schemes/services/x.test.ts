import { describe, expect, it } from 'vitest'
import { makeProvider } from '../../testing/make-provider.ts'

const now = 1_760_000_000_000
const secrets = [{ value: 'test_secret' }]

function check(query: string, named: readonly { value: string; notAfter?: string }[] = secrets): unknown {
  return makeProvider({ settings: { scheme: 'x' }, secrets: named }).answerCheck?.(query, now)
}

const answer = { response_token: 'sha256=8URkJr3tz8LZScGcvYGtW9GOzeALNgpiuarDraEVNKg=' }

describe('the check of X', () => {
  it('is answered by the HMAC of its token', () => {
    expect(check('crc_token=crc_0001')).toEqual(answer)
    expect(check('nonce=n&crc_token=crc_0001')).toEqual(answer)
  })

  it.each([
    ['no token', ''],
    ['an empty token', 'crc_token='],
    ['two tokens', 'crc_token=crc_0001&crc_token=crc_0001'],
    ['a token that could be a body', 'crc_token=%7B%22a%22%3A1%7D'],
    ['a token with a blank', 'crc_token=a+b'],
    ['a token that is too long', `crc_token=${'a'.repeat(201)}`],
    ['a token in another case', 'CRC_TOKEN=crc_0001'],
    ['a token with a line feed behind it', 'crc_token=a%0A'],
  ])('is refused with %s', (_, query) => {
    expect(check(query)).toBeNull()
  })

  it('is answered with the secret that counts longest', () => {
    const old = { value: 'the_old_secret', notAfter: new Date(now + 1_000).toISOString() }
    expect(check('crc_token=crc_0001', [old, ...secrets])).toEqual(answer)
    expect(check('crc_token=crc_0001', [...secrets, old])).toEqual(answer)
  })

  it('is refused when every secret has ended', () => {
    expect(check('crc_token=crc_0001', [{ value: 'old_secret', notAfter: new Date(now).toISOString() }])).toBeNull()
  })
})
