import { useQuery } from '@tanstack/react-query'
import { type EventDetails, operator } from '../api/operator-client.ts'

const REFRESH_MS = 2_000

/** One event, kept up to date. */
export function useEvent(id: string) {
  return useQuery<EventDetails>({
    queryKey: ['events', 'get', id],
    queryFn: () => operator.events.get.query({ id }),
    refetchInterval: REFRESH_MS,
  })
}
