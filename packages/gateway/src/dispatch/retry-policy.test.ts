import type { RetryClass } from '@oncehook/kernel/http/errors'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decideRetry, type FailedTry } from './retry-policy.ts'

const HOUR_MS = 3_600_000
const limits = {
  ...{ baseMs: 2_000, capMs: 900_000, maxAgeMs: 72 * HOUR_MS, orderUnknownMs: HOUR_MS },
  ...{ maxInternalErrors: 8, internalMs: HOUR_MS },
}
const zeroToOne = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
const waiting = fc.constantFrom<RetryClass>('now', 'later')

function tried(members: Partial<FailedTry>): FailedTry {
  return {
    code: 'unavailable',
    retry: 'later',
    failures: 0,
    failedForMs: 0,
    orderUnknownForMs: 0,
    internalErrors: 0,
    isFault: false,
    othersWork: true,
    ...members,
  }
}

describe('decideRetry', () => {
  it('gives up at once on an event that can never succeed, with the code as the reason', () => {
    fc.assert(
      fc.property(fc.string(), fc.nat(), fc.nat(), (code, failures, failedForMs) => {
        const never = tried({ code, retry: 'never', failures, failedForMs })
        expect(decideRetry(never, limits, () => 0)).toEqual({ state: 'dead', reason: code })
      }),
    )
  })

  it('waits between nothing and a time that doubles up to the cap, whatever the number of attempts', () => {
    fc.assert(
      fc.property(waiting, fc.nat(100_000), zeroToOne, (retry, failures, random) => {
        const settlement = decideRetry(tried({ retry, failures }), limits, () => random)
        const whole = Math.min(900_000, 2_000 * 2 ** Math.min(failures, 40))
        expect(settlement).toEqual({ state: 'pending', delayMs: Math.floor(random * whole) })
      }),
    )
  })

  it('is bounded by age alone', () => {
    fc.assert(
      fc.property(waiting, fc.nat(1_000), fc.nat(200 * HOUR_MS), (retry, failures, failedForMs) => {
        const settlement = decideRetry(tried({ retry, failures, failedForMs }), limits, () => 0)
        const tooOld = failedForMs >= 72 * HOUR_MS
        expect(settlement).toEqual(
          tooOld ? { state: 'dead', reason: 'retries_exhausted' } : { state: 'pending', delayMs: 0 },
        )
      }),
    )
  })

  it('waits an hour for an unknown order, counted from when it was first unknown', () => {
    fc.assert(
      fc.property(fc.nat(2 * HOUR_MS), fc.nat(71 * HOUR_MS), (orderUnknownForMs, before) => {
        const failedForMs = Math.min(orderUnknownForMs + before, 72 * HOUR_MS - 1)
        const unknown = tried({ code: 'order_unknown', orderUnknownForMs, failedForMs })
        expect(decideRetry(unknown, limits, () => 0)).toEqual(
          orderUnknownForMs >= HOUR_MS ? { state: 'dead', reason: 'order_unknown' } : { state: 'pending', delayMs: 0 },
        )
      }),
    )
  })

  it('waits for an unknown order no longer than for anything else', () => {
    const unknown = tried({ code: 'order_unknown', orderUnknownForMs: 5_000, failedForMs: 5_000 })
    expect(decideRetry(unknown, { ...limits, maxAgeMs: 5_000 }, () => 0)).toEqual({
      state: 'dead',
      reason: 'order_unknown',
    })
  })

  it.each([
    ['ends it', { internalErrors: 7, failedForMs: HOUR_MS }, { state: 'dead', reason: 'internal' }],
    ['does not end it before an hour', { internalErrors: 7, failedForMs: HOUR_MS - 1 }, { internalErrors: 8 }],
    ['does not count it while no other works', { internalErrors: 7, othersWork: false }, { internalErrors: 7 }],
    ['is the reason after the longest time', { othersWork: false, failedForMs: 72 * HOUR_MS }, { reason: 'internal' }],
  ])('%s: an event at a fault of fulfilment', (_, members, settlement) => {
    const fault = tried({ code: 'internal', isFault: true, failedForMs: HOUR_MS, ...members })
    expect(decideRetry(fault, limits, () => 0)).toMatchObject(settlement)
  })

  it('counts the hour for no other refusal', () => {
    const settlement = decideRetry(tried({ orderUnknownForMs: 2 * HOUR_MS }), limits, () => 0)
    expect(settlement).toEqual({ state: 'pending', delayMs: 0 })
  })
})
