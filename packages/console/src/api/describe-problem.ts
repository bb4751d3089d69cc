import { TRPCClientError } from '@trpc/client'
import { texts } from '../texts/texts.ts'
import { ProblemAnswer } from './post-json.ts'

/** A problem as the page shows it: what it is, what to do next, and how to find it in the log. */
export interface Problem {
  readonly message: string
  readonly code: string
  readonly next: string
  readonly requestId: string | null
}

/**
 * The code of an error: one of the error catalogue; `unreachable` if no working gateway has answered; `other` for a fault
 * of the page.
 */
export function codeOf(error: unknown): string {
  const known = problemOf(error)
  if (known instanceof ProblemAnswer) return known.code
  if (!(known instanceof TRPCClientError)) return 'other'
  const data: unknown = known.data
  if (!isObject(data)) return 'unreachable'
  return 'reason' in data && typeof data.reason === 'string' ? data.reason : 'other'
}

export function describeProblem(error: unknown): Problem {
  const code = codeOf(error)
  return { message: messageOf(error, code), code, next: nextStep(code), requestId: requestIdOf(error) }
}

function messageOf(error: unknown, code: string): string {
  if (code === 'unreachable') return texts.problem.unreachable
  const known = problemOf(error)
  const isAnswer = known instanceof TRPCClientError || known instanceof ProblemAnswer
  return isAnswer ? known.message : texts.problem.unexpected
}

/** The gateway refuses some calls before they reach the operator API. Such an answer has another form. */
function problemOf(error: unknown): unknown {
  if (!(error instanceof TRPCClientError) || isObject(error.data)) return error
  const response: unknown = error.meta?.response
  const isRefused = response instanceof Response && response.status >= 400 && response.status < 500
  return isRefused ? ProblemAnswer.from(response, error.meta?.responseJSON) : error
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

const STEPS: ReadonlyMap<string, string> = new Map(Object.entries(texts.problem.next))

function nextStep(code: string): string {
  return STEPS.get(code) ?? texts.problem.next.other
}

function requestIdOf(error: unknown): string | null {
  if (error instanceof ProblemAnswer) return error.requestId
  const response: unknown = error instanceof TRPCClientError ? error.meta?.response : undefined
  return response instanceof Response ? response.headers.get('x-request-id') : null
}
