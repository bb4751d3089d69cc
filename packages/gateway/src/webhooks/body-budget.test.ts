import { overloaded } from '@oncehook/webhooks/providers'
import { describe, expect, it } from 'vitest'
import { BodyBudget, type BodyOrigin } from './body-budget.ts'

function budgetOf(capacity: number) {
  let time = 0
  return { budget: new BodyBudget({ capacity, now: () => time }), pass: (ms: number) => (time += ms) }
}

const SMALL = { address: '192.0.2.1', announced: 1_000 }

/** A share, and the error codes that ended its reading. */
function watched(budget: BodyBudget, origin: Partial<BodyOrigin> = {}) {
  const ends: string[] = []
  const share = budget.open({ ...SMALL, ...origin })
  share.onReading((reason) => ends.push(overloaded.is(reason) ? reason.code : 'other'))
  return { share, ends }
}

/** Whether there is memory for another body of this size. Keeps none of it. */
function fits(budget: BodyBudget, bytes: number, origin: Partial<BodyOrigin> = {}): boolean {
  try {
    const share = budget.open({ ...SMALL, ...origin })
    share.onBytes(bytes)
    share.release()
    return true
  } catch (error) {
    if (overloaded.is(error)) return false
    throw error
  }
}

describe('BodyBudget', () => {
  it('reserves for each body that arrives, and releases it when it is answered', () => {
    const { budget } = budgetOf(100_000)
    const shares = [budget.open(SMALL), budget.open(SMALL)]
    for (const share of shares) share.onBytes(40_000)
    expect([fits(budget, 5_000), fits(budget, 10_000)]).toEqual([true, false])
    shares[0]?.release()
    expect(fits(budget, 40_000)).toBe(true)
    shares[0]?.release()
    expect(fits(budget, 60_000)).toBe(false)
  })

  it('drops bodies that have been arriving for a second in favour of new ones, the oldest first', () => {
    const { budget, pass } = budgetOf(100_000)
    const [oldest, older] = [watched(budget), watched(budget)]
    oldest.share.onBytes(40_000)
    older.share.onBytes(40_000)
    pass(999)
    expect(fits(budget, 20_000)).toBe(false)
    pass(1)
    expect(fits(budget, 20_000)).toBe(true)
    expect([oldest.ends, older.ends]).toEqual([['overloaded'], []])
    oldest.share.release()
    expect(fits(budget, 50_000)).toBe(true)
    expect(older.ends).toEqual([])
  })

  it('never drops a complete body', () => {
    const { budget, pass } = budgetOf(100_000)
    const { share, ends } = watched(budget)
    share.onBytes(90_000)
    share.complete()
    pass(60_000)
    expect(fits(budget, 20_000)).toBe(false)
    expect(ends).toEqual([])
  })

  it('refuses a body that is the oldest itself, and has its memory back', () => {
    const { budget, pass } = budgetOf(100_000)
    const [share, whole] = [budget.open(SMALL), budget.open(SMALL)]
    whole.onBytes(60_000)
    whole.complete()
    pass(5_000)
    expect(() => share.onBytes(50_000)).toThrow(overloaded().message)
    share.release()
    expect(fits(budget, 30_000)).toBe(true)
  })

  describe('with several addresses', () => {
    const other = { address: '198.51.100.1' }

    it('drops bodies of the address that uses most, however new they are', () => {
      const { budget } = budgetOf(100_000)
      const [first, second] = [watched(budget, other), watched(budget, other)]
      const own = watched(budget)
      first.share.onBytes(40_000)
      second.share.onBytes(30_000)
      own.share.onBytes(10_000)
      expect(fits(budget, 20_000)).toBe(true)
      expect([first.ends, second.ends, own.ends]).toEqual([['overloaded'], [], []])
    })

    it('serves small bodies while new uploads start all the time', () => {
      const { budget, pass } = budgetOf(16 * 1_048_576)
      let uploads: ReturnType<typeof watched>[] = []
      for (let round = 0; round < 5; round += 1) {
        for (const { share } of uploads) share.release()
        uploads = Array.from({ length: 800 }, () => {
          const upload = watched(budget, { ...other, announced: 1_048_576 })
          try {
            upload.share.onBytes(15_000)
          } catch (error) {
            expect(overloaded.is(error)).toBe(true)
          }
          return upload
        })
        pass(900)
        expect(fits(budget, 15_000)).toBe(true)
        expect(fits(budget, 500_000, { announced: 500_000 })).toBe(true)
      }
    })
  })

  it('keeps a quarter for bodies that were announced as small', () => {
    const { budget } = budgetOf(1_000_000)
    const origins = Array.from({ length: 9 }, (_, n) => ({ address: `198.51.100.${n}` }))
    for (const origin of origins.slice(0, 7)) watched(budget, { ...origin, announced: 100_000 }).share.onBytes(95_000)
    expect(fits(budget, 95_000, { address: '203.0.113.1', announced: 100_000 })).toBe(false)
    expect(fits(budget, 95_000, { address: '203.0.113.1', announced: Number.POSITIVE_INFINITY })).toBe(false)
    expect(fits(budget, 60_000, { address: '203.0.113.1', announced: 60_000 })).toBe(true)
  })
})
