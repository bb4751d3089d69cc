import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { backoffMs } from './waits.ts'

const backoffs = fc.record({
  baseMs: fc.integer({ min: 1, max: 60_000 }),
  capMs: fc.integer({ min: 1, max: 86_400_000 }),
})
const attempts = fc.integer({ min: 0, max: 10_000 })
const randoms = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

describe('backoffMs', () => {
  it('is a whole number of milliseconds from 0 up to the cap and the doubled base', () => {
    fc.assert(
      fc.property(backoffs, attempts, randoms, (backoff, attempt, random) => {
        const ms = backoffMs(backoff, attempt, () => random)
        expect(Number.isSafeInteger(ms)).toBe(true)
        expect(ms).toBeGreaterThanOrEqual(0)
        expect(ms).toBeLessThan(Math.max(1, Math.min(backoff.capMs, backoff.baseMs * 2 ** attempt)))
      }),
    )
  })

  it('doubles until the cap', () => {
    const waits = [0, 1, 2, 3, 4, 5].map((attempt) =>
      backoffMs({ baseMs: 100, capMs: 1_000 }, attempt, () => 0.999_999),
    )
    expect(waits).toEqual([99, 199, 399, 799, 999, 999])
  })
})
