import { TRPCClientError } from '@trpc/client'
import { expect, it } from 'vitest'
import { texts } from '../texts/texts.ts'
import { describeProblem } from './describe-problem.ts'
import { ProblemAnswer } from './post-json.ts'

const next = (code: string): string => describeProblem(new ProblemAnswer('no', code)).next

it('says what to do next for a known code, and the same for all others, whatever their names', () => {
  expect(next('role_missing')).toBe(texts.problem.next.role_missing)
  for (const code of ['never_seen', 'constructor', 'toString', '__proto__']) {
    expect([code, next(code)]).toEqual([code, texts.problem.next.other])
  }
})

it('names what refused a call before the operator API, and says of a gateway that does not work that it is unreachable', () => {
  const answered = (status: number, responseJSON: unknown) => {
    const response = new Response(null, { status, headers: { 'x-request-id': 'the-id' } })
    return describeProblem(TRPCClientError.from(new Error('not in its form'), { meta: { response, responseJSON } }))
  }
  const large = { error: 'The header section is too large', code: 'headers_too_large' }
  expect(answered(431, large)).toMatchObject({ code: large.code, message: large.error, requestId: 'the-id' })
  expect(answered(404, null)).toMatchObject({ code: '404', next: texts.problem.next.other })
  expect(answered(503, { error: 'It is starting', code: 'unavailable' }).code).toBe('unreachable')
  expect(describeProblem(TRPCClientError.from(new Error('fetch failed'))).code).toBe('unreachable')
})
