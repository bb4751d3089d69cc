import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { operator } from '../api/operator-client.ts'
import { type EventFeed, joinNewest, joinOlder, joinSearches } from './event-feed.ts'
import { type EventSearch, toEventFilter } from './event-search.ts'

const PAGE = 100
const REFRESH_MS = 2_000

async function readPage(search: EventSearch, after: string | undefined): Promise<EventFeed> {
  const filter = { ...toEventFilter(search), limit: PAGE, ...(after === undefined ? {} : { after }) }
  const list = async (found: { readonly eventId?: string; readonly orderId?: string }): Promise<EventFeed> => {
    const { items, next } = await operator.events.list.query({ ...filter, ...found })
    return { items, hasOlder: next !== null }
  }
  if (search.find === undefined) return await list({})
  const [byEvent, byOrder] = await Promise.all([list({ eventId: search.find }), list({ orderId: search.find })])
  return joinSearches(byEvent, byOrder)
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
    refetchInterval: REFRESH_MS,
  })
  const older = useMutation({
    mutationFn: () => readPage(search, feed.data?.items.at(-1)?.id),
    onSuccess: (page) =>
      client.setQueryData<EventFeed>(queryKey, (known) => (known === undefined ? page : joinOlder(known, page))),
  })
  return { feed, older }
}
