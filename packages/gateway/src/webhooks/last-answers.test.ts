import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { notChecked } from '../errors.ts'
import { checkedInTime } from './confirm-events.ts'
import { LastAnswers } from './last-answers.ts'

const LATER = { startedAt: 0, endsAt: Number.POSITIVE_INFINITY }
const never = new Promise<string>(() => undefined)

afterEach(() => {
  vi.useRealTimers()
})

describe('LastAnswers', () => {
  it('refuses only the requests that still wait at their deadline', async () => {
    vi.useFakeTimers()
    const answers = new LastAnswers()
    const startedAt = performance.now()
    const refused = expect(answers.outcomeOf(never, { startedAt, endsAt: startedAt + 9_500 })).rejects.toMatchObject({
      code: 'not_stored',
      details: { late: true },
    })
    const other = Promise.withResolvers<string>()
    const waiting = answers.outcomeOf(other.promise, { startedAt, endsAt: startedAt + 9_501 })
    await vi.advanceTimersByTimeAsync(9_500)
    answers.endLate()
    await vi.advanceTimersByTimeAsync(0)
    await refused
    other.resolve('stored')
    expect(await waiting).toBe('stored')
  })
  it('lets work that ends at the same deadline report itself what was late, even after a stall', async () => {
    const answers = new LastAnswers()
    const swept = Promise.withResolvers<void>()
    setTimeout(() => {
      answers.endLate()
      swept.resolve()
    }, 10)
    const endsAt = performance.now() + 20
    const check = checkedInTime(new Promise(() => undefined), endsAt)
    const refused = expect(answers.outcomeOf(check, { startedAt: 0, endsAt })).rejects.toSatisfy(notChecked.is)
    while (performance.now() < endsAt + 1);
    await swept.promise
    await refused
  })
  it('refuses a request at once that begins after its deadline, such as the last of many on one connection', async () => {
    const answers = new LastAnswers()
    const late = { startedAt: 9_500, endsAt: 9_500 }
    const failed = answers.outcomeOf(Promise.reject(new Error('forged')), late)
    const waiting = answers.outcomeOf(never, late)
    await expect(failed).rejects.toThrow('forged')
    await expect(waiting).rejects.toMatchObject({ code: 'not_stored', details: { late: true } })
  })
  it('refuses a request at once that begins after the end', async () => {
    const answers = new LastAnswers()
    answers.end()
    const done = answers.outcomeOf(Promise.resolve('stored'), LATER)
    const waiting = answers.outcomeOf(never, LATER)
    expect(await done).toBe('stored')
    await expect(waiting).rejects.toMatchObject({ code: 'not_stored', details: { stopping: true } })
  })
  it('refuses exactly the requests that still wait, whatever the order of the other answers', async () => {
    const order = fc.uniqueArray(fc.nat({ max: 19 }))
    await fc.assert(
      fc.asyncProperty(order, async (answered) => {
        const answers = new LastAnswers()
        const works = Array.from({ length: 20 }, () => Promise.withResolvers<string>())
        const outcomes = works.map(({ promise }) => answers.outcomeOf(promise, LATER))
        for (const at of answered) works[at]?.resolve('stored')
        await Promise.all(answered.map((at) => outcomes[at]))
        answers.end()
        const ends = await Promise.allSettled(outcomes)
        expect(ends.flatMap(({ status }, at) => (status === 'fulfilled' ? [at] : []))).toEqual(
          answered.toSorted((a, b) => a - b),
        )
      }),
    )
  })
})
