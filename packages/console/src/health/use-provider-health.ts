import { useQuery } from '@tanstack/react-query'
import { operator } from '../api/operator-client.ts'

/** The health of each provider, read again after each `refreshMs` milliseconds. The gateway counts for up to a second each time. */
export function useProviderHealth(refreshMs: number) {
  return useQuery({
    queryKey: ['providers', 'health'],
    queryFn: () => operator.providers.health.query(),
    refetchInterval: refreshMs,
  })
}
