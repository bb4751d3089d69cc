import { describe, expect, it } from 'vitest'
import { headerLines, singleHeader } from './delivery.ts'

const rawHeaders = ['Host', 'a', 'X-Signature', 'one', 'x-signature', 'two', 'x-other', '']

describe('headerLines', () => {
  it('gives every line of a header, its name in any case', () => {
    expect(headerLines(rawHeaders, 'x-signature')).toEqual(['one', 'two'])
    expect(headerLines(rawHeaders, 'host')).toEqual(['a'])
    expect(headerLines(rawHeaders, 'absent')).toEqual([])
  })

  it('takes no value for a name', () => {
    expect(headerLines(['a', 'host', 'b', 'c'], 'host')).toEqual([])
  })
})

describe('singleHeader', () => {
  it('gives the value of a header that has one line, also an empty one', () => {
    expect(singleHeader(rawHeaders, 'host')).toBe('a')
    expect(singleHeader(rawHeaders, 'x-other')).toBe('')
  })

  it('gives null for a header that is missing or repeated', () => {
    expect(singleHeader(rawHeaders, 'absent')).toBeNull()
    expect(singleHeader(rawHeaders, 'x-signature')).toBeNull()
  })
})
