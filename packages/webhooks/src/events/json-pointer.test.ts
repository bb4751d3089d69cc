import { describe, expect, it } from 'vitest'
import { resolvePointer } from './json-pointer.ts'

// The document of RFC 6901 section 5.
const rfc = JSON.parse(
  '{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\\\j":5,"k\\"l":6," ":7,"m~n":8,"__proto__":{"x":9}}',
)

describe('resolvePointer', () => {
  it.each([
    ['/foo', ['bar', 'baz']],
    ['/foo/0', 'bar'],
    ['/foo/1', 'baz'],
    ['/', 0],
    ['/a~1b', 1],
    ['/i\\j', 5],
    ['/m~0n', 8],
    ['/__proto__/x', 9],
  ])('finds %s', (pointer, value) => {
    expect(resolvePointer(rfc, pointer)).toEqual(value)
  })

  it.each([
    '/absent',
    '/foo/2',
    '/foo/-',
    '/foo/01',
    '/foo/length',
    '/toString',
    '/constructor/name',
    '/foo/__proto__',
  ])('finds nothing under %s', (pointer) => {
    expect(resolvePointer(rfc, pointer)).toBeUndefined()
  })

  it('decodes ~01 into ~1, not into a slash', () => {
    expect(resolvePointer({ '~1': 'right', '/': 'wrong' }, '/~01')).toBe('right')
  })

  it('finds nothing in values that are not objects', () => {
    for (const document of [null, undefined, 'text', 1, true])
      expect(resolvePointer(document, '/length')).toBeUndefined()
  })
})
