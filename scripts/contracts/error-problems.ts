import type { FulfilmentDescription } from './describe-fulfilment.ts'

type Errors = FulfilmentDescription['errors']

/** What breaks callers that rely on the former meaning of an error code, one line each. */
export function errorProblems(code: string, before: Errors[string], errors: Errors): string[] {
  const now = errors[code]
  if (now === undefined) return [`the code ${code} is gone`]
  const status = now.status === before.status ? [] : [`the code ${code} was status ${before.status}, is ${now.status}`]
  const retry =
    now.retry === before.retry ? [] : [`the code ${code} was to be retried ${before.retry}, is ${now.retry}`]
  return [...status, ...retry]
}
