import { describe, expect, it } from 'vitest'
import { overloaded } from '../errors.ts'
import { BodyBudget } from './body-budget.ts'

function budgetOf(capacity: number) {
  let time = 0
  return { budget: new BodyBudget({ capacity, now: () => time }), pass: (ms: number) => (time += ms) }
}

/** A share, and the codes that its reading was ended with. */
function watched(budget: BodyBudget) {
  const ends: string[] = []
  const share = budget.open()
  share.onReading((reason) => ends.push(overloaded.is(reason) ? reason.code : 'other'))
  return { share, ends }
}

/** Whether the memory for another body of so many bytes is there; nothing of it is kept. */
function fits(budget: BodyBudget, bytes: number): boolean {
  try {
    const share = budget.open()
    share.onBytes(bytes)
    share.release()
    return true
  } catch (error) {
    if (overloaded.is(error)) return false
    throw error
  }
}

describe('BodyBudget', () => {
  it('takes what arrives, and gives back what was answered', () => {
    const { budget } = budgetOf(100_000)
    const shares = [budget.open(), budget.open()]
    for (const share of shares) share.onBytes(40_000)
    expect([fits(budget, 5_000), fits(budget, 10_000)]).toEqual([true, false])
    shares[0]?.release()
    expect(fits(budget, 40_000)).toBe(true)
    shares[0]?.release()
    expect(fits(budget, 60_000)).toBe(false)
  })

  it('takes one body of any size', () => {
    const { budget } = budgetOf(1_000)
    const share = budget.open()
    share.onBytes(1_000_000)
    expect(fits(budget, 1)).toBe(false)
  })

  it('lets what has been arriving for a second give way to what is new, the oldest first', () => {
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

  it('never lets a body give way that is whole', () => {
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
    const [share, whole] = [budget.open(), budget.open()]
    whole.onBytes(60_000)
    whole.complete()
    pass(5_000)
    expect(() => share.onBytes(50_000)).toThrow(overloaded().message)
    share.release()
    expect(fits(budget, 30_000)).toBe(true)
  })
})
