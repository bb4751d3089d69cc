import { describe, expect, it } from 'vitest'
import { readRetryAfter, readVerdict } from './read-verdict.ts'

const NOW = Date.parse('2026-11-26T10:00:00Z')

function verdict(status: number, retryAfter: string | null = null) {
  return readVerdict({ status, retryAfter }, NOW)
}

describe('readVerdict', () => {
  it.each([200, 201, 202, 204, 299])('takes %i as done', (status) => {
    expect(verdict(status)).toEqual({ done: true })
  })

  it.each([410, 422])('takes %i as a permanent refusal', (status) => {
    expect(verdict(status)).toMatchObject({ refused: 'handler_refused', retry: 'never' })
  })

  it.each([502, 504])('tries again later after %i, which is not about the task', (status) => {
    const message = `The handler answered ${status}`
    expect(verdict(status, '7')).toEqual({ refused: 'handler_failed', retry: 'later', message, isBusy: true })
  })

  it.each([0, 301, 307, 400, 401, 403, 404, 408, 500])('tries again later after %i', (status) => {
    expect(verdict(status, '7')).toEqual({
      ...{ refused: 'handler_failed', retry: 'later' },
      message: `The handler answered ${status}`,
    })
  })

  it('waits as long as 409 says, which is about this task alone', () => {
    const refusal = { refused: 'handler_failed', retry: 'later', message: 'The handler answered 409' }
    expect(verdict(409)).toEqual(refusal)
    expect(verdict(409, '7')).toEqual({ ...refusal, afterMs: 7_000 })
  })

  it.each([429, 503])('waits as long as %i says', (status) => {
    expect(verdict(status)).toMatchObject({ refused: 'handler_busy', retry: 'later', isBusy: true })
    expect(verdict(status, '7')).toMatchObject({ retry: 'later', afterMs: 7_000 })
    expect(verdict(status, '0')).toMatchObject({ retry: 'later', afterMs: 0 })
    expect(verdict(status, 'soon')).not.toHaveProperty('afterMs')
  })
})

describe('readRetryAfter', () => {
  it.each([
    ['120', 120_000],
    [' 5 ', 5_000],
    ['Thu, 26 Nov 2026 10:00:30 GMT', 30_000],
    ['Thu, 26 Nov 2026 09:00:00 GMT', 0],
    ['', null],
    ['-5', null],
    ['1.5', null],
    ['99999999999999999999', 1_000_000_000_000],
  ])('reads %o as %o', (text, ms) => {
    expect(readRetryAfter(text, NOW)).toBe(ms)
  })
})
