import { describe, expect, it } from 'vitest'
import { p99AtSaturation } from './saturation.ts'

function curve(...points: (readonly [perSecond: number, p99Ms: number, failed?: number])[]) {
  return points.map(([perSecond, p99Ms, failed = 0]) => ({ perSecond, p50Ms: 1, p99Ms, failed }))
}

describe('p99AtSaturation', () => {
  it('compares at the first rate that the other does not sustain', () => {
    const ours = curve([1_000, 5], [2_000, 8], [3_000, 20])
    expect(p99AtSaturation(ours, curve([1_000, 10], [2_000, 160]))).toBe(0.05)
    expect(p99AtSaturation(ours, curve([1_000, 10], [2_000, 80, 1])), 'too late is not the only failure').toBe(0.1)
  })

  it('takes the next higher rate if the same was not tried', () => {
    expect(p99AtSaturation(curve([1_000, 5], [3_000, 20]), curve([2_000, 80], [2_250, 200]))).toBe(0.1)
  })

  it('is not known if the other sustained every rate, or if no rate so high was tried', () => {
    expect(p99AtSaturation(curve([1_000, 5]), curve([1_000, 10]))).toBeNaN()
    expect(p99AtSaturation(curve([1_000, 5]), curve([2_000, 200]))).toBeNaN()
    expect(p99AtSaturation([], [])).toBeNaN()
  })
})
