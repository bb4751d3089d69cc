import type { ReactNode } from 'react'
import { codeOf, describeProblem } from '../api/describe-problem.ts'

/** Says what went wrong, what to do next, and the id of the request. */
export function ProblemNotice(props: {
  readonly error: unknown
  readonly retry?: (() => void) | undefined
  readonly children?: ReactNode
}) {
  const { error, retry, children } = props
  const { message, code, next, requestId } = describeProblem(error)
  return (
    <div role="alert" className="my-2 border-l-4 border-bad bg-raised px-3 py-2">
      <p>
        <strong className="text-bad">{/[.!?]$/.test(message) ? message : `${message}.`}</strong> <span>{next}</span>{' '}
        {children}
      </p>
      <p className="text-quiet">
        <code>{code}</code>
        {requestId !== null && (
          <>
            {' · '}Request <code className="break-all">{requestId}</code>
          </>
        )}
      </p>
      {retry !== undefined && (
        <button type="button" className="button mt-1" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}

/**
 * Says why a part of the page could not be read, and nothing without an error. That the gateway does not answer is said once
 * for the whole page: see `AwayNotice`.
 */
export function QueryProblem({ error, retry }: { readonly error: unknown; readonly retry?: () => void }) {
  if (error === null || codeOf(error) === 'unreachable') return null
  return <ProblemNotice error={error} retry={retry} />
}
