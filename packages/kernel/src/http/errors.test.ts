import { describe, expect, it } from 'vitest'
import * as catalogue from './error-codes.ts'
import { AppError, defineError, toAppError } from './errors.ts'

const teapot = defineError('teapot', { status: 418, retry: 'never', message: 'The pot is a teapot' })

describe('defineError', () => {
  it('makes errors that carry the entry', () => {
    const error = teapot()
    expect(error).toBeInstanceOf(AppError)
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({
      name: 'AppError',
      code: 'teapot',
      status: 418,
      retry: 'never',
      message: 'The pot is a teapot',
      details: {},
      headers: {},
    })
    expect('cause' in error).toBe(false)
  })

  it('adds the details of one occurrence', () => {
    const cause = new Error('inner')
    const error = teapot({ spout: 1 }, { cause, headers: { Allow: 'BREW' }, message: 'No coffee here' })
    expect(error).toMatchObject({ message: 'No coffee here', details: { spout: 1 }, headers: { Allow: 'BREW' }, cause })
    expect(teapot().message).toBe('The pot is a teapot')
  })

  it('adds headers and details to a copy', () => {
    const error = teapot({ spout: 1 }, { headers: { Allow: 'BREW' }, message: 'No coffee here' })
    const copy = error.with({ headers: { Vary: 'Accept' }, details: { lid: 1 } })
    expect(copy).toMatchObject({ code: 'teapot', status: 418, retry: 'never', message: 'No coffee here', cause: error })
    expect(copy.headers).toEqual({ Allow: 'BREW', Vary: 'Accept' })
    expect(copy.details).toEqual({ spout: 1, lid: 1 })
    expect(error).toMatchObject({ headers: { Allow: 'BREW' }, details: { spout: 1 } })
    expect(copy.with({}).headers).toEqual(copy.headers)
  })

  it('shows the entry on the factory', () => {
    expect({ ...teapot }).toMatchObject({ code: 'teapot', status: 418, retry: 'never', message: 'The pot is a teapot' })
  })

  it('recognises its own errors only', () => {
    expect(teapot.is(teapot())).toBe(true)
    expect(teapot.is(catalogue.notFound())).toBe(false)
    expect(teapot.is({ code: 'teapot' })).toBe(false)
    expect(teapot.is(null)).toBe(false)
  })
})

describe('toAppError', () => {
  it('leaves a catalogue error as it is', () => {
    const error = teapot()
    expect(toAppError(error)).toBe(error)
  })

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

  it('has each code once', () => {
    expect(new Set(entries.map(({ code }) => code)).size).toBe(entries.length)
  })

  it.each(entries.map((entry) => [entry.code, entry] as const))('writes %s as the style wants it', (code, entry) => {
    expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/)
    expect(entry.message).toMatch(/^[A-Z].*[^.]$/)
    expect(entry.status).toBeGreaterThanOrEqual(400)
    expect(entry.status).toBeLessThan(600)
  })

  it('allows a later retry only if the server or the moment is to blame', () => {
    const later = entries.filter(({ retry }) => retry === 'later').map(({ status }) => status)
    expect(new Set(later)).toEqual(new Set([408, 429, 503]))
    expect(catalogue.preconditionFailed.retry).toBe('now')
  })
})
