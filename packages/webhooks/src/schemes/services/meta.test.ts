import { describe, expect, it } from 'vitest'
import { makeProvider } from '../../testing/make-provider.ts'

const check = (query: string, settings: object = { verifyToken: 'a & b' }): unknown =>
  makeProvider({ settings: { scheme: 'meta', ...settings }, secrets: [{ value: 'test_secret' }] }).answerCheck?.(
    query,
    0,
  )

const asked = 'hub.mode=subscribe&hub.verify_token=a+%26+b&hub.challenge=1158201444'

describe('the check of a URL by Meta', () => {
  it('is answered with its challenge', () => {
    expect(check(asked)).toBe(1_158_201_444)
    expect(check(asked.replace('a+', 'a%20'))).toBe(1_158_201_444)
  })

  it.each([
    ['another token', asked.replace('a+', 'c+')],
    ['no token', asked.replace(/hub.verify_token=[^&]*&/, '')],
    ['two tokens', `${asked}&hub.verify_token=a+%26+b`],
    ['two challenges', `${asked}&hub.challenge=2`],
    ['another mode', asked.replace('subscribe', 'unsubscribe')],
    ['a challenge that is no number', asked.replace('1158201444', '%3Cscript%3E')],
    ['a challenge that JSON would not keep', asked.replace('1158201444', '9007199254740993')],
    ['an empty query', ''],
  ])('is refused with %s', (_, query) => {
    expect(check(query)).toBeNull()
  })

  it('is refused as long as the settings have no token', () => {
    expect(check(asked, {})).toBeNull()
    expect(check(asked.replace('a+%26+b', 'undefined'), {})).toBeNull()
  })
})
