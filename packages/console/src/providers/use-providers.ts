import { useQuery } from '@tanstack/react-query'
import { operator } from '../api/operator-client.ts'

const REFRESH_MS = 5_000

/** The providers with their addresses, deliveries and secrets, kept current for all who show them. */
export function useProviders() {
  return useQuery({
    queryKey: ['providers'],
    queryFn: () => operator.providers.list.query(),
    refetchInterval: REFRESH_MS,
  })
}
