import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Breaker } from './breaker.ts'

const zeroToOne = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

function createBreaker(random: () => number = () => 0) {
  const clock = { now: 0 }
  return { clock, breaker: new Breaker(() => clock.now, random) }
}

function stateOf({ isClosed, allowsCall }: Breaker) {
  return { isClosed, allowsCall }
}

describe('Breaker', () => {
  it('allows everything until a call fails, and then one at a time', () => {
    const { breaker, clock } = createBreaker()
    expect(stateOf(breaker)).toEqual({ isClosed: true, allowsCall: true })
    breaker.failed()
    expect(stateOf(breaker)).toEqual({ isClosed: false, allowsCall: false })
    clock.now = 125
    expect(stateOf(breaker)).toEqual({ isClosed: false, allowsCall: true })
  })

  it('forgives the first failure after a success: it may be the fault of one event', () => {
    const { breaker } = createBreaker()
    for (let times = 0; times < 3; times += 1) {
      breaker.succeeded()
      expect(breaker.isDoubtful).toBe(false)
      breaker.failed()
      expect([breaker.isClosed, breaker.isDoubtful]).toEqual([true, true])
    }
    breaker.failed()
    expect(breaker.isClosed).toBe(false)
  })

  it('closes at the first success, and begins with short waits again', () => {
    const { breaker, clock } = createBreaker()
    for (let times = 0; times < 9; times += 1) breaker.failed()
    expect(breaker.allowsCall).toBe(false)
    breaker.succeeded()
    expect(stateOf(breaker)).toEqual({ isClosed: true, allowsCall: true })
    breaker.failed()
    breaker.failed()
    expect(breaker.allowsCall).toBe(false)
    clock.now += 125
    expect(breaker.allowsCall).toBe(true)
  })

  it('waits at least half and at most the whole of a time that doubles up to the cap', () => {
    fc.assert(
      fc.property(fc.array(zeroToOne, { minLength: 1, maxLength: 60 }), fc.nat(10 ** 13), (randoms, start) => {
        const draws = [...randoms]
        const { breaker, clock } = createBreaker(() => draws.shift() ?? 0)
        for (const failures of randoms.keys()) {
          clock.now = start
          breaker.failed()
          const whole = Math.min(5_000, 250 * 2 ** failures)
          clock.now = start + whole / 2 - 1
          expect(breaker.allowsCall).toBe(false)
          clock.now = start + whole
          expect(breaker.allowsCall).toBe(true)
        }
      }),
    )
  })
})
