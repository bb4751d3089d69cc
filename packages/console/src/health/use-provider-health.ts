import { useQuery } from '@tanstack/react-query'
import { operator } from '../api/operator-client.ts'

/** The health of each provider, read every `refreshMs` milliseconds. Each reading costs the gateway up to a second. */
export function useProviderHealth(refreshMs: number) {
  return useQuery({
    queryKey: ['providers', 'health'],
    queryFn: () => operator.providers.health.query(),
    refetchInterval: refreshMs,
  })
}
