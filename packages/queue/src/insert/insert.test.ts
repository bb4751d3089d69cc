import { describe, expect, it } from 'vitest'
import { KnownKeys } from './insert.ts'

describe('KnownKeys', () => {
  it('contains only the added ids', () => {
    const known = new KnownKeys(10)
    known.add('a')
    expect(known.has('a')).toBe(true)
    expect(known.has('b')).toBe(false)
  })

  it('keeps at least its capacity, the youngest, and never more than twice as many', () => {
    const known = new KnownKeys(10)
    for (let index = 0; index < 95; index += 1) known.add(String(index))
    const kept = Array.from({ length: 95 }, (_, index) => index).filter((index) => known.has(String(index)))
    expect(kept).toEqual(Array.from({ length: kept.length }, (_, index) => 95 - kept.length + index))
    expect(kept.length).toBeGreaterThanOrEqual(10)
    expect(kept.length).toBeLessThanOrEqual(20)
  })
})
