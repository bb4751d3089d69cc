import { describe, expect, it } from 'vitest'
import { takesGzip } from './console.ts'

describe('takesGzip', () => {
  it.each([
    ['gzip', true],
    ['deflate,\tGZIP ; q=0.5 , br', true],
    ['br, gzip;q=0', false],
    ['gzip;q=0.000', false],
    ['x-gzip', false],
    ['gzip2, identity', false],
    [undefined, false],
  ])('%s: %s', (header, takes) => {
    expect(takesGzip(header)).toBe(takes)
  })

  // Each further space would take as long as all before it.
  it('needs one look at a header of 200,000 spaces', () => {
    expect(takesGzip(`gzip${' '.repeat(200_000)}x`)).toBe(false)
  })
})
