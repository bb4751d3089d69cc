import { useQuery } from '@tanstack/react-query'
import { operator } from '../api/operator-client.ts'

const REFRESH_MS = 5_000

/** The providers with their URLs, deliveries and secrets, kept up to date for every component that shows them. */
export function useProviders() {
  return useQuery({
    queryKey: ['providers'],
    queryFn: () => operator.providers.list.query(),
    refetchInterval: REFRESH_MS,
  })
}
