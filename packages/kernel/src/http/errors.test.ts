import { describe, expect, it } from 'vitest'
import * as catalogue from './error-codes.ts'
import { defineError, toAppError } from './errors.ts'

const teapot = defineError('teapot', 418, 'The pot is a teapot')

describe('defineError', () => {
  it('adds headers and details to a copy', () => {
    const error = teapot({ spout: 1 }, { headers: { Allow: 'BREW' }, message: 'No coffee here' })
    const copy = error.with({ headers: { Vary: 'Accept' }, details: { lid: 1 } })
    expect(copy).toMatchObject({ code: 'teapot', status: 418, retry: 'never', message: 'No coffee here', cause: error })
    expect(copy.headers).toEqual({ Allow: 'BREW', Vary: 'Accept' })
    expect(copy.details).toEqual({ spout: 1, lid: 1 })
    expect(error).toMatchObject({ headers: { Allow: 'BREW' }, details: { spout: 1 } })
    expect(copy.with({}).headers).toEqual(copy.headers)
  })
})

describe('toAppError', () => {
  it.each([new Error('canary'), 'canary', null, undefined, 7])(
    'masks everything else and keeps it for the log',
    (thrown) => {
      const error = toAppError(thrown)
      expect(error).toMatchObject({ code: 'internal', status: 500, retry: 'later' })
      expect(error.message).not.toContain('canary')
      expect(error.cause).toBe(thrown)
    },
  )
})

describe('error-codes', () => {
  const entries = Object.values(catalogue)

  it('allows a later retry only if the server or the moment is to blame', () => {
    const later = entries.filter(({ retry }) => retry === 'later').map(({ status }) => status)
    expect(new Set(later)).toEqual(new Set([408, 429, 503]))
    expect(catalogue.preconditionFailed.retry).toBe('now')
  })
})
