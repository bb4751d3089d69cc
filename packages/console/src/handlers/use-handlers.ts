import { useQuery } from '@tanstack/react-query'
import { type Answers, operator } from '../api/operator-client.ts'

/** A handler with its settings, its pause and the numbers of its tasks. */
export type ListedHandler = Answers['handlers']['list'][number]

// Counting the tasks costs the gateway two searches of an index, which a long backlog makes slow.
const REFRESH_MS = 30_000

/** The handlers, kept up to date for every component that shows them. The list is empty if none can be configured. */
export function useHandlers(refreshMs = REFRESH_MS) {
  return useQuery({
    queryKey: ['handlers'],
    queryFn: () => operator.handlers.list.query(),
    refetchInterval: refreshMs,
  })
}
