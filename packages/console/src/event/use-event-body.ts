import { useQuery } from '@tanstack/react-query'
import { type EventDetails, operator } from '../api/operator-client.ts'
import { useMayDo } from '../api/use-may-do.ts'

/**
 * The event with its body and all its headers, if the token may read bodies. It is read only once each time the page is
 * opened, because each reading adds an entry to the audit log.
 */
export function useEventBody(id: string) {
  const enabled = useMayDo('bodies')
  return useQuery<EventDetails>({
    ...{ enabled, queryKey: ['body', id], queryFn: () => operator.events.get.query({ id, body: true }) },
    ...{ staleTime: Number.POSITIVE_INFINITY, gcTime: 0, retry: false },
  })
}
