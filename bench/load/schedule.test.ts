import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSchedule } from './schedule.ts'

describe('createSchedule', () => {
  it('spreads deliveries evenly from the start on', () => {
    const schedule = createSchedule({ at: 1_000, count: 5, perSecond: 4 })
    expect([0, 1, 2, 3, 4].map(schedule.dueAt)).toEqual([1_000, 1_250, 1_500, 1_750, 2_000])
    expect(schedule.endsAt).toBe(2_000)
  })

  it('counts the deliveries that are due at a given time', () => {
    const schedule = createSchedule({ at: 1_000, count: 5, perSecond: 4 })
    expect([999, 1_000, 1_249, 1_250, 1_999, 2_000, 9_000].map(schedule.dueBy)).toEqual([0, 1, 1, 2, 4, 5, 5])
  })

  it('does not drift: the instant of a late one follows from the start alone', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10_000_000 }), fc.integer({ min: 1, max: 100_000 }), (index, perSecond) => {
        const { dueAt } = createSchedule({ at: 0, count: index + 1, perSecond })
        expect(dueAt(index)).toBeCloseTo((index / perSecond) * 1_000, 6)
      }),
    )
  })

  it('refuses an invalid rate', () => {
    for (const perSecond of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => createSchedule({ at: 0, count: 1, perSecond })).toThrow(RangeError)
    }
  })
})
