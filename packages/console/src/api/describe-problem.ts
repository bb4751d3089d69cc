import { TRPCClientError } from '@trpc/client'
import { texts } from '../texts/texts.ts'
import { ProblemAnswer } from './problem-answer.ts'

/** A problem as the page shows it: what it is, what to do next, and how to find it in the log. */
export interface Problem {
  readonly message: string
  readonly code: string
  readonly next: string
  readonly requestId: string | null
}

/** The code of an error of the operator API: one of the error catalogue, or `unreachable`. */
export function codeOf(error: unknown): string {
  if (error instanceof ProblemAnswer) return error.code
  if (!(error instanceof TRPCClientError)) return 'other'
  const data: unknown = error.data
  if (typeof data !== 'object' || data === null) return 'unreachable'
  return 'reason' in data && typeof data.reason === 'string' ? data.reason : 'other'
}

/** Describes any error. */
export function describeProblem(error: unknown): Problem {
  const code = codeOf(error)
  return { message: messageOf(error, code), code, next: nextStep(code), requestId: requestIdOf(error) }
}

function messageOf(error: unknown, code: string): string {
  if (code === 'unreachable') return texts.problem.unreachable
  const isAnswer = error instanceof TRPCClientError || error instanceof ProblemAnswer
  return isAnswer ? error.message : texts.problem.unexpected
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
