// The live list: it reads the newest page every few seconds. While the viewer reads further down, it does not, so that rows
// stay in their place.

import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useEffectEvent } from 'react'
import { operator } from '../api/operator-client.ts'
import { type EventFeed, joinNewest, joinOlder, readInParts, type SearchPart } from './event-feed.ts'
import { type EventSearch, toEventQuery } from './event-search.ts'

const PAGE = 100
// Reading the newest page again costs the gateway one search by an index.
const REFRESH_MS = 3_000
const FAR_FROM_TOP_PX = 200

function readPage(search: EventSearch, part: Partial<SearchPart>): Promise<EventFeed> {
  return operator.events.feed.query({ ...toEventQuery(search), ...part, limit: PAGE })
}

/** The events that match, kept up to date, and a function that reads older ones. */
export function useEventFeed(search: EventSearch) {
  const client = useQueryClient()
  const queryKey = ['events', 'list', search] as const
  const readNewest = async (): Promise<EventFeed> => {
    const page = await readInParts(
      (part) => readPage(search, part),
      (part) => client.setQueryData<EventFeed>(queryKey, (known) => known ?? part),
    )
    return joinNewest(client.getQueryData<EventFeed>(queryKey), page)
  }
  // Each search in bodies adds an entry to the audit log, and a search that was cut takes long.
  const isLive = (feed: EventFeed | undefined): boolean => search.text === undefined && (feed?.cut ?? null) === null
  const feed = useQuery<EventFeed>({
    ...{ queryKey, queryFn: readNewest },
    ...(search.text === undefined ? {} : { staleTime: Number.POSITIVE_INFINITY }),
    refetchOnWindowFocus: ({ state }) => isLive(state.data) && !isFarFromTop(),
  })
  const refresh = useEffectEvent(() => {
    const isSeen = document.visibilityState === 'visible' && !isFarFromTop()
    if (isSeen && isLive(feed.data)) void feed.refetch({ cancelRefetch: false })
  })
  useEffect(() => {
    const timer = window.setInterval(() => refresh(), REFRESH_MS)
    return () => window.clearInterval(timer)
  }, [])
  const older = useMutation({
    mutationFn: async (after: string) => {
      const page = await readPage(search, { after })
      client.setQueryData<EventFeed>(queryKey, (known) => known && joinOlder(known, page, after))
    },
  })
  return { feed, older, isLive: isLive(feed.data) }
}

/** Whether the viewer has scrolled down, so that rows must stay in their place. */
function isFarFromTop(): boolean {
  return window.scrollY > FAR_FROM_TOP_PX
}
