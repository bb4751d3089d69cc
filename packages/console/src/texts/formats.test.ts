import { describe, expect, it } from 'vitest'
import { localTime, number, shortTime, utcTime } from './formats.ts'

// In the zone of this machine.
const EVENING = new Date(2026, 10, 2, 19, 5, 9)
const MIDNIGHT = new Date(2026, 0, 1, 0, 0, 0)

describe('numbers and times of the page', () => {
  it('are written in one way', () => {
    expect([number(1_234_567.891_2), number(1_234.56, 1), number(2)]).toEqual(['1,234,567.891', '1,234.6', '2'])
    expect([localTime(EVENING), shortTime(EVENING)]).toEqual(['2026-11-02 19:05:09', '11-02 19:05'])
    expect(localTime(MIDNIGHT)).toBe('2026-01-01 00:00:00')
    expect(utcTime('2026-11-02T10:00:00.123Z')).toBe('2026-11-02 10:00:00 UTC')
  })
})
