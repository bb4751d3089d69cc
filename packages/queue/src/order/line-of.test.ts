import { describe, expect, it } from 'vitest'
import { lineOf } from './turns.ts'

describe('lineOf', () => {
  it('is the same for the same value, and short', () => {
    expect(lineOf('sub_1')).toBe(lineOf('sub_1'))
    expect(lineOf('x'.repeat(10_000))).toHaveLength(22)
  })

  it.each([undefined, null, {}, [], ['sub_1']])('is none for %j', (value) => {
    expect(lineOf(value)).toBeUndefined()
  })

  it('does not show the value', () => {
    expect(lineOf('ada@shop.example')).not.toContain('ada')
  })
})
