// The live list: it reads the newest page, follows the stream of changes, and keeps rows in their place while the viewer reads
// further down. If changes were missed, the next page that is read heals the list, unless that would move what somebody reads.

import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useEffectEvent, useRef, useState } from 'react'
import { type ListedEvent, operator } from '../api/operator-client.ts'
import { applyChanges, type EventFeed, joinOlder, readInParts, type SearchPart, takePage } from './event-feed.ts'
import { type EventSearch, isInSpan, isLive, toEventQuery } from './event-search.ts'
import { type ChangedEvents, useEventTail } from './use-event-tail.ts'

const PAGE = 100
// Reading the newest page again costs the gateway one search by an index.
const REFRESH_MS = 10_000

function readPage(search: EventSearch, part: Partial<SearchPart>): Promise<EventFeed> {
  return operator.events.list.query({ ...toEventQuery(search), ...part, limit: PAGE })
}

/** How many changes the list does not show. Null if the number is unknown. */
type LeftOut = number | null

function plus(one: LeftOut, other: LeftOut): LeftOut {
  return one === null || other === null ? null : one + other
}

/** The events that match, kept up to date, and a function that reads older ones. */
export function useEventFeed(search: EventSearch) {
  const client = useQueryClient()
  const queryKey = ['events', 'list', search] as const
  const [leftOut, setLeftOut] = useState<LeftOut>(0)
  // How often changes were missed, and how many of these times the list has made up for.
  const missed = useRef({ times: 0, healed: 0 })
  // What changes while a page is read may be newer than the page.
  const meanwhile = useRef(new Set<ListedEvent[]>())
  const watched = async (read: () => Promise<EventFeed>) => {
    const changed: ListedEvent[] = []
    meanwhile.current.add(changed)
    const page = await read().finally(() => meanwhile.current.delete(changed))
    return { page, changed }
  }
  const readNewest = async ({ signal }: { readonly signal: AbortSignal }): Promise<EventFeed> => {
    const before = client.getQueryData<EventFeed>(queryKey)
    const { times } = missed.current
    const { page, changed } = await watched(() =>
      readInParts(
        (part) => readPage(search, part),
        (part) => client.setQueryData<EventFeed>(queryKey, (known) => known ?? part),
      ),
    )
    if (signal.aborted) return page
    const known = client.getQueryData<EventFeed>(queryKey)
    const isBroken = times !== missed.current.healed
    const { feed: taken, isWhole } = takePage({ page, before, known, isBroken, isKept: isFarFromTop() })
    if (isWhole) missed.current.healed = times
    else missed.current.times += 1
    const isHealed = missed.current.healed === missed.current.times
    setLeftOut((count) => (isHealed ? 0 : count || null))
    return isWhole ? applyChanges(taken, changed) : taken
  }
  const feed = useQuery<EventFeed>({
    ...{ queryKey, queryFn: readNewest },
    // Each search in bodies adds an entry to the audit log, and a search that was cut takes long.
    ...(search.text === undefined ? {} : { staleTime: Number.POSITIVE_INFINITY }),
    refetchOnWindowFocus: ({ state }) => state.data?.cut === null,
  })
  const readAgain = async (): Promise<void> => {
    // A page that was asked for before the stream began may lack what came in between. It is shown all the same.
    if (client.isFetching({ queryKey, exact: true }) > 0) await feed.refetch({ cancelRefetch: false })
    await feed.refetch()
  }
  const onChanged = ({ items, leftOut: missing, isFirst }: ChangedEvents): void => {
    const wanted = items.filter((event) => isInSpan(search, event))
    for (const changed of meanwhile.current) changed.push(...wanted)
    client.setQueryData<EventFeed>(queryKey, (known) => (known === undefined ? known : applyChanges(known, wanted)))
    if (missing !== 0) {
      missed.current.times += 1
      setLeftOut((known) => plus(known, missing))
    }
    if (isFirst) void readAgain()
  }
  const tail = useEventTail(search, onChanged)
  // The stream does not say which events have left the state of the filter.
  const isComplete = tail === 'live' && leftOut === 0 && search.state === undefined && search.reason === undefined
  const refresh = useEffectEvent(() => {
    const isWanted = isLive(search) && !isComplete && feed.data?.cut === null
    if (isWanted && document.visibilityState === 'visible') void feed.refetch()
  })
  useEffect(() => {
    const timer = window.setInterval(() => refresh(), REFRESH_MS)
    return () => window.clearInterval(timer)
  }, [])
  const older = useMutation({
    mutationFn: async (after: string) => {
      const { page, changed } = await watched(() => readPage(search, { after }))
      client.setQueryData<EventFeed>(queryKey, (known) => known && applyChanges(joinOlder(known, page, after), changed))
    },
  })
  return { feed, older, tail, leftOut }
}

const FAR_FROM_TOP_PX = 200

/** Whether the viewer has scrolled down, so that rows must stay in their place. */
function isFarFromTop(): boolean {
  return window.scrollY > FAR_FROM_TOP_PX
}

/**
 * Keeps rows in their place while the viewer has scrolled down: newer events are only counted until they are requested
 * or the top is visible again.
 */
export function usePinned(items: readonly ListedEvent[]) {
  const [pinned, setPinned] = useState<string | null>(null)
  const newest = items[0]?.id ?? null
  useEffect(() => {
    const onScroll = (): void => {
      const isFar = isFarFromTop()
      setPinned((current) => (isFar ? (current ?? newest) : null))
    }
    document.addEventListener('scroll', onScroll, { passive: true })
    return () => document.removeEventListener('scroll', onScroll)
  }, [newest])
  const newer =
    pinned === null
      ? 0
      : Math.max(
          0,
          items.findIndex(({ id }) => id <= pinned),
        )
  return {
    shown: newer === 0 ? items : items.slice(newer),
    newer,
    showNewest: () => {
      setPinned(null)
      window.scrollTo({ top: 0 })
    },
  }
}
