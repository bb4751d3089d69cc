import type { RetryClass } from '@oncehook/kernel/http/errors'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decideRetry, type FailedTry } from './retry-policy.ts'

const HOUR_MS = 3_600_000
const ofCodes = new Map([
  ['order_unknown', HOUR_MS],
  ['internal', Number.POSITIVE_INFINITY],
])
const limits = { baseMs: 2_000, capMs: 900_000, maxAgeMs: 72 * HOUR_MS, ofCodes }
const zeroToOne = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
const waiting = fc.constantFrom<RetryClass>('now', 'later')

function tried(claim: Partial<FailedTry['claim']> = {}, members: Partial<FailedTry> = {}): FailedTry {
  const untried = { failures: 0, waited: 0, waitedFor: null }
  return { code: 'unavailable', retry: 'later', claim: { ...untried, ...claim }, ...members }
}

describe('decideRetry', () => {
  it('gives up at once on an event that can never succeed, with the code as the reason', () => {
    fc.assert(
      fc.property(fc.string(), fc.nat(), fc.nat(), (code, failures, waited) => {
        const never = tried({ failures, waited }, { code, retry: 'never' })
        expect(decideRetry(never, limits, () => 0)).toEqual({ state: 'dead', reason: code })
      }),
    )
  })

  it('waits between nothing and a time that doubles up to the cap, whatever the number of attempts', () => {
    fc.assert(
      fc.property(waiting, fc.nat(100_000), zeroToOne, (retry, failures, random) => {
        const settlement = decideRetry(tried({ failures }, { retry }), limits, () => random)
        const delayMs = Math.floor(random * Math.min(900_000, 2_000 * 2 ** Math.min(failures, 40)))
        const waitedFor = { code: 'unavailable', ms: delayMs }
        expect(settlement).toEqual({ state: 'pending', delayMs, waited: delayMs, waitedFor })
      }),
    )
  })

  it('waits as long as the handler asks for, and counts that', () => {
    const settlement = decideRetry(tried({ waited: 50 }, { waitMs: 700 }), limits, () => 0.5)
    const waitedFor = { code: 'unavailable', ms: 700 }
    expect(settlement).toEqual({ state: 'pending', delayMs: 700, waited: 750, waitedFor })
  })

  it('is bounded by the sum of its waits alone', () => {
    fc.assert(
      fc.property(waiting, fc.nat(1_000), fc.nat(200 * HOUR_MS), (retry, failures, waited) => {
        const settlement = decideRetry(tried({ failures, waited }, { retry }), limits, () => 0)
        const isOver = waited >= 72 * HOUR_MS
        expect(settlement).toMatchObject(
          isOver ? { state: 'dead', reason: 'retries_exhausted' } : { state: 'pending', waited },
        )
      }),
    )
  })

  it('ends every event, and not before its waits have reached the limit', () => {
    fc.assert(
      fc.property(fc.array(zeroToOne, { minLength: 1, maxLength: 20 }), (randoms) => {
        const sometimes = [...randoms, 0.5]
        let claim: FailedTry['claim'] = { failures: 0, waited: 0, waitedFor: null }
        let sum = 0
        for (let failures = 0; ; failures += 1) {
          const random = (): number => sometimes[failures % sometimes.length] ?? 0
          const settlement = decideRetry({ code: 'unavailable', retry: 'later', claim }, limits, random)
          if (settlement.state !== 'pending') break
          sum += settlement.delayMs
          claim = { ...settlement, failures: failures + 1 }
        }
        expect(sum).toBeGreaterThanOrEqual(72 * HOUR_MS)
        expect(sum).toBeLessThan(72 * HOUR_MS + 900_000)
      }),
    )
  })

  describe('with a limit for its code alone', () => {
    const unknownFor = (ms: number, waited = ms) => ({ waited, waitedFor: { code: 'order_unknown', ms } })

    it('ends when the waits for it reach an hour', () => {
      fc.assert(
        fc.property(fc.nat(2 * HOUR_MS), fc.nat(70 * HOUR_MS), (ms, before) => {
          const unknown = tried(unknownFor(ms, ms + before), { code: 'order_unknown', waitMs: 10 })
          expect(decideRetry(unknown, limits, () => 0)).toEqual(
            ms >= HOUR_MS
              ? { state: 'dead', reason: 'order_unknown' }
              : { state: 'pending', delayMs: 10, ...unknownFor(ms + 10, ms + before + 10) },
          )
        }),
      )
    })

    it('ends with this reason at the limit of all waits, too', () => {
      const unknown = tried(unknownFor(5_000), { code: 'order_unknown' })
      const settlement = decideRetry(unknown, { ...limits, maxAgeMs: 5_000 }, () => 0)
      expect(settlement).toEqual({ state: 'dead', reason: 'order_unknown' })
    })

    it('counts from the last attempt on that failed for another reason', () => {
      const away = decideRetry(tried(unknownFor(2 * HOUR_MS), { waitMs: 10 }), limits, () => 0)
      expect(away).toMatchObject({ waited: 2 * HOUR_MS + 10, waitedFor: { code: 'unavailable', ms: 10 } })
      const waitedFor = { code: 'unavailable', ms: 2 * HOUR_MS }
      const again = decideRetry(tried({ waitedFor }, { code: 'order_unknown', waitMs: 10 }), limits, () => 0)
      expect(again).toMatchObject({ state: 'pending', waitedFor: { code: 'order_unknown', ms: 10 } })
    })
  })

  it('ends with a code that has no limit of its own as the reason, after the longest time only', () => {
    const fault = (waited: number) => decideRetry(tried({ waited }, { code: 'internal' }), limits, () => 0)
    expect(fault(72 * HOUR_MS - 1)).toMatchObject({ state: 'pending' })
    expect(fault(72 * HOUR_MS)).toEqual({ state: 'dead', reason: 'internal' })
  })
})
