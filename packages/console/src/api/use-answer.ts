// What the page shows of the gateway: its parts name an answer in the memory of the session, and how it is asked for.

import { useQuery } from '@tanstack/react-query'

const REFRESH_MS = 5_000

/** An answer that is asked for again and again. */
export function useLive<Answer>(queryKey: readonly unknown[], queryFn: () => Promise<Answer>, refreshMs = REFRESH_MS) {
  return useQuery({ queryKey, queryFn, refetchInterval: refreshMs })
}

/** An answer that is asked for once each time that its part of the page is opened. */
export function useOnce<Answer>(queryKey: readonly unknown[], queryFn: () => Promise<Answer>, enabled = true) {
  return useQuery({ queryKey, queryFn, enabled, staleTime: Number.POSITIVE_INFINITY, gcTime: 0 })
}
