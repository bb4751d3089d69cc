import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useCallback, useSyncExternalStore } from 'react'
import { codeOf } from '../api/describe-problem.ts'
import { ProblemNotice } from '../parts/problem-notice.tsx'

const isAway = (error: unknown): boolean => error !== null && codeOf(error) === 'unreachable'

/** What the parts of the page could not read because the gateway does not answer. */
const UNREAD = {
  type: 'active',
  predicate: ({ state }: { readonly state: { readonly error: unknown } }) => isAway(state.error),
} as const

function findError(client: QueryClient): unknown {
  const [unread] = client.getQueryCache().findAll(UNREAD)
  return unread?.state.error ?? null
}

/** Says once for the whole page that the gateway does not answer, as long as a part of the page could not be read for that. */
export function AwayNotice() {
  const client = useQueryClient()
  const listen = useCallback((tell: () => void) => client.getQueryCache().subscribe(tell), [client])
  const error = useSyncExternalStore(listen, () => findError(client))
  if (error === null) return null
  return <ProblemNotice error={error} retry={() => void client.refetchQueries(UNREAD)} />
}
