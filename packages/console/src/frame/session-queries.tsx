import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { type ReactNode, useMemo } from 'react'
import { codeOf } from '../api/describe-problem.ts'
import { refuseSession, type Session, useSession } from '../api/session.ts'

/**
 * Gives each session its own memory for answers: however a session ends, the page forgets what it has read, and a late
 * answer reaches nobody else. After a refusal the page asks who is signed in now: another window may have changed that.
 */
export function SessionQueries({ children }: { readonly children: ReactNode }) {
  const session = useSession()
  const client = useMemo(() => createQueries(session), [session])
  return <QueryClientProvider client={client}>{children}</QueryClientProvider>
}

function createQueries(session: Session | null): QueryClient {
  const onError = (error: Error): void => {
    if (session !== null && codeOf(error) === 'unauthenticated') refuseSession(session)
  }
  return new QueryClient({
    queryCache: new QueryCache({ onError }),
    mutationCache: new MutationCache({ onError }),
    // The page refreshes its contents anyway, so one failed call is shown at once.
    defaultOptions: { queries: { retry: false } },
  })
}
