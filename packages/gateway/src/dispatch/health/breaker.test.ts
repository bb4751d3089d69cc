import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createBreaker } from './breaker.ts'

const probes = { baseMs: 250, capMs: 5_000 }
const zeroToOne = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

describe('createBreaker', () => {
  it('lets everything through until something fails', () => {
    const breaker = createBreaker(probes, () => 0)
    expect(breaker.closed).toBe(true)
    expect(breaker.allows(0)).toBe(true)
    breaker.failed(1_000)
    expect(breaker.closed).toBe(false)
    expect(breaker.allows(1_000)).toBe(false)
  })

  it('closes at the first success, and begins with short waits again', () => {
    const breaker = createBreaker(probes, () => 0)
    for (let times = 0; times < 9; times += 1) breaker.failed(0)
    breaker.succeeded()
    expect(breaker.closed).toBe(true)
    expect(breaker.allows(0)).toBe(true)
    breaker.failed(0)
    expect(breaker.allows(250)).toBe(true)
  })

  it('waits at least half and at most the whole of a time that doubles up to the cap', () => {
    fc.assert(
      fc.property(fc.array(zeroToOne, { minLength: 1, maxLength: 60 }), fc.nat(10 ** 13), (randoms, now) => {
        const draws = [...randoms]
        const breaker = createBreaker(probes, () => draws.shift() ?? 0)
        for (const failures of randoms.keys()) {
          breaker.failed(now)
          const whole = Math.min(5_000, 250 * 2 ** failures)
          expect(breaker.allows(now + whole / 2 - 1)).toBe(false)
          expect(breaker.allows(now + whole)).toBe(true)
        }
      }),
    )
  })

  it('does not stay open when the clock is set back', () => {
    const breaker = createBreaker(probes, () => 0.5)
    breaker.failed(10_000_000)
    expect(breaker.allows(10_000_000 - 7_200_000)).toBe(true)
  })
})
