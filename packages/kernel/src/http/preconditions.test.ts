import { describe, expect, it } from 'vitest'
import { invalidRequest } from './error-codes.ts'
import { readPreconditions } from './preconditions.ts'

describe('readPreconditions', () => {
  it.each([
    ['nothing', {}, 1, null],
    ['the version', { ifMatch: '"1"' }, 1, null],
    ['another version', { ifMatch: '"2"' }, 1, 'If-Match'],
    ['a weak tag of the version', { ifMatch: 'W/"1"' }, 1, 'If-Match'],
    ['any version of nothing', { ifMatch: '*' }, null, 'If-Match'],
    ['no version, of something', { ifNoneMatch: '*' }, 1, 'If-None-Match'],
    ['no version, of nothing', { ifNoneMatch: '*' }, null, null],
    ['not this version, weakly', { ifNoneMatch: 'W/"1"' }, 1, 'If-None-Match'],
    ['If-Match before If-None-Match', { ifMatch: '"2"', ifNoneMatch: '"1"' }, 1, 'If-Match'],
  ] as const)('checks %s', (...[, preconditions, version, failed]) => {
    expect(readPreconditions(preconditions)(version)).toBe(failed)
  })

  it('refuses invalid syntax before any version is known', () => {
    expect(() => readPreconditions({ ifMatch: '1' })).toThrow(expect.toSatisfy(invalidRequest.is))
  })
})
