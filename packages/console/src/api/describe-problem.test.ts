import { expect, it } from 'vitest'
import { texts } from '../texts/texts.ts'
import { describeProblem } from './describe-problem.ts'
import { ProblemAnswer } from './problem-answer.ts'

const next = (code: string): string => describeProblem(new ProblemAnswer('no', { code, requestId: null })).next

it('says what to do next for a known code, and the same for all others, whatever their names', () => {
  expect(next('role_missing')).toBe(texts.problem.next.role_missing)
  for (const code of ['never_seen', 'constructor', 'toString', '__proto__']) {
    expect([code, next(code)]).toEqual([code, texts.problem.next.other])
  }
})
