import { describe, expect, it } from 'vitest'
import { FIRST_PAUSED_DUE_AT } from '../pauses.ts'
import { IN_LINE_DUE_AT } from '../task.ts'
import { lineOf } from './turns.ts'

describe('lineOf', () => {
  it('is the same for the same value, and short', () => {
    expect(lineOf('sub_1')).toBe(lineOf('sub_1'))
    expect(lineOf('x'.repeat(10_000))).toHaveLength(22)
  })

  it('differs for different values, of different types too', () => {
    const values = ['1', 1, 'true', true, false, 0, '', 'sub_1']
    expect(new Set(values.map(lineOf)).size).toBe(values.length)
  })

  it.each([undefined, null, {}, [], ['sub_1']])('is none for %j', (value) => {
    expect(lineOf(value)).toBeUndefined()
  })

  it('does not show the value', () => {
    expect(lineOf('ada@shop.example')).not.toContain('ada')
  })
})

describe('IN_LINE_DUE_AT', () => {
  it('is before the due times of pauses', () => {
    expect(IN_LINE_DUE_AT.getTime()).toBeLessThan(FIRST_PAUSED_DUE_AT.getTime())
  })
})
