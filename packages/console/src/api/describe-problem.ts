import { TRPCClientError } from '@trpc/client'
import { texts } from '../texts/texts.ts'
import { membersOf, ProblemAnswer } from './post-json.ts'

/**
 * The code of an error: one of the error catalogue; `unreachable` if no working gateway has answered; `other` for a fault
 * of the page.
 */
export function codeOf(error: unknown): string {
  return describeProblem(error).code
}

const STEPS: ReadonlyMap<string, string> = new Map(Object.entries(texts.problem.next))

/** A problem as the page shows it: what it is, what to do next, and how to find it in the log. */
export function describeProblem(error: unknown) {
  const { message, code, requestId } = problemOf(error)
  return { message, code, next: STEPS.get(code) ?? texts.problem.next.other, requestId }
}

function problemOf(error: unknown): Pick<ProblemAnswer, 'message' | 'code' | 'requestId'> {
  if (error instanceof ProblemAnswer) return error
  if (!(error instanceof TRPCClientError)) {
    return { message: 'Something went wrong on this page.', code: 'other', requestId: null }
  }
  const response: unknown = error.meta?.response
  const answer = response instanceof Response ? response : null
  const requestId = answer?.headers.get('x-request-id') ?? null
  const data = membersOf(error.data)
  if (data.size > 0) return { message: error.message, code: String(data.get('reason') ?? 'other'), requestId }
  // The gateway refuses some calls before they reach the operator API. Such an answer has another form.
  const isRefused = answer !== null && answer.status >= 400 && answer.status < 500
  if (isRefused) return ProblemAnswer.from(answer, error.meta?.responseJSON)
  return { message: 'The gateway does not answer.', code: 'unreachable', requestId }
}
