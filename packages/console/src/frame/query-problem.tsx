import { codeOf } from '../api/describe-problem.ts'
import { ProblemNotice } from '../parts/problem-notice.tsx'

/**
 * Says why a part of the page could not be read, and nothing without an error. That the gateway does not answer is said once
 * for the whole page: see `AwayNotice`.
 */
export function QueryProblem({ error, retry }: { readonly error: unknown; readonly retry?: () => void }) {
  if (error === null || codeOf(error) === 'unreachable') return null
  return <ProblemNotice error={error} retry={retry} />
}
