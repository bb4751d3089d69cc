import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { operator } from '../api/operator-client.ts'
import { type EventFeed, joinNewest, joinOlder } from './event-feed.ts'
import { type EventSearch, toEventQuery } from './event-search.ts'

const PAGE = 100
// The newest page is read again, which costs the gateway one search by its index.
const REFRESH_MS = 2_000

/** Whether the list is kept current. A search in bodies is not: each search leaves an entry in the audit log. */
export function isLive({ text }: EventSearch): boolean {
  return text === undefined
}

function readPage(search: EventSearch, after: string | undefined): Promise<EventFeed> {
  return operator.events.list.query({ ...toEventQuery(search), limit: PAGE, ...(after === undefined ? {} : { after }) })
}

/** The events that match, kept current, and a way to read older ones. */
export function useEventFeed(search: EventSearch) {
  const client = useQueryClient()
  const queryKey = ['events', 'list', search] as const
  const feed = useQuery<EventFeed>({
    queryKey,
    queryFn: async () => {
      const page = await readPage(search, undefined)
      return joinNewest(client.getQueryData<EventFeed>(queryKey), page)
    },
    ...(isLive(search) ? { refetchInterval: REFRESH_MS } : { staleTime: Number.POSITIVE_INFINITY }),
  })
  const older = useMutation({
    mutationFn: () => readPage(search, feed.data?.next ?? undefined),
    onSuccess: (page) =>
      client.setQueryData<EventFeed>(queryKey, (known) => (known === undefined ? page : joinOlder(known, page))),
  })
  return { feed, older }
}
