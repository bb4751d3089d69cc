import { describe, expect, it } from 'vitest'
import { medianOf, ratioOf, spreadOf } from './statistics.ts'

describe('medianOf', () => {
  it('is the middle value, or the mean of the two in the middle', () => {
    expect(medianOf([9, 1, 5])).toBe(5)
    expect(medianOf([4, 1, 10, 2])).toBe(3)
    expect(medianOf([])).toBeNaN()
  })
})

describe('spreadOf', () => {
  it('contains the median and both ends', () => {
    expect(spreadOf([3, 1, 2])).toEqual({ median: 2, least: 1, most: 3 })
  })
})

describe('ratioOf', () => {
  it('compares within each round, so that a slow round does not distort', () => {
    // Always 3 times, on a machine that is ten times slower in the second round.
    expect(ratioOf([300, 30, 300], [100, 10, 100])).toEqual({ median: 3, least: 3, most: 3 })
  })

  it('refuses rounds that lack a side', () => {
    expect(() => ratioOf([1, 2], [1])).toThrow(RangeError)
  })
})
