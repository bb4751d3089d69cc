import { describe, expect, it } from 'vitest'
import { notStored } from '../../errors.ts'
import { LastAnswers } from './last-answers.ts'

describe('LastAnswers', () => {
  it('refuses what still waits when the process ends, and only that', async () => {
    const answers = new LastAnswers()
    const done = answers.outcomeOf(Promise.resolve('stored'))
    const failed = answers.outcomeOf(Promise.reject(new Error('forged')))
    expect(await done).toBe('stored')
    await expect(failed).rejects.toThrow('forged')
    const late = Promise.withResolvers<string>()
    const waiting = answers.outcomeOf(late.promise)
    answers.end()
    await expect(waiting).rejects.toSatisfy(notStored.is)
    late.reject(new Error('nobody waits for this any more'))
    answers.end()
  })
})
