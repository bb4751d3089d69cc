import { describe, expect, it } from 'vitest'
import { headerLines, singleHeader } from './delivery.ts'

const rawHeaders = ['Host', 'a', 'X-Signature', 'one', 'x-signature', 'two', 'x-other', '']

describe('headerLines', () => {
  it('returns every line of a header, whatever the case of its name', () => {
    expect(headerLines(rawHeaders, 'x-signature')).toEqual(['one', 'two'])
    expect(headerLines(rawHeaders, 'host')).toEqual(['a'])
    expect(headerLines(rawHeaders, 'absent')).toEqual([])
  })

  it('does not mistake a value for a name', () => {
    expect(headerLines(['a', 'host', 'b', 'c'], 'host')).toEqual([])
  })
})

describe('singleHeader', () => {
  it('returns the value of a header that has one line, even an empty one', () => {
    expect(singleHeader(rawHeaders, 'host')).toBe('a')
    expect(singleHeader(rawHeaders, 'x-other')).toBe('')
  })

  it('returns null for a header that is missing or repeated', () => {
    expect(singleHeader(rawHeaders, 'absent')).toBeNull()
    expect(singleHeader(rawHeaders, 'x-signature')).toBeNull()
  })
})
