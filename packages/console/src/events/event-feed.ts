// The events that the list knows: pages of a search joined with each other. Only data, no components: `use-event-feed.ts`
// reads the pages.

import type { Answers, FeedEvent } from '../api/operator-client.ts'

/** The events that are known to the page, newest first, and where older ones begin. */
export interface EventFeed {
  readonly items: readonly FeedEvent[]
  /** Null if there are no older ones. */
  readonly next: string | null
  /** How far back the search came before its time was over. Null if it came to the end or the page is full. */
  readonly cut: Answers['events']['feed']['cut']
}

/** How many events the page keeps. Older ones are read again when they are needed. */
const MOST_KEPT = 5_000

/** Whether events are missing between the newest page and the known events. */
function hasGap(known: EventFeed, { next }: EventFeed): boolean {
  return next !== null && known.items.length > 0 && !known.items.some(({ id }) => id >= next)
}

/** Joins the newest page with the known events. If events in between are missing, the feed is the page alone. */
export function joinNewest(known: EventFeed | undefined, page: EventFeed): EventFeed {
  const { next } = page
  if (known === undefined || next === null || page.cut !== null || known.cut !== null || hasGap(known, page))
    return page
  // An event whose place has changed is on the page already.
  const onPage = new Set(page.items.map(nameOf))
  const rest = known.items.filter((item) => item.id < next && !onPage.has(nameOf(item)))
  return withBound({ ...known, items: [...page.items, ...rest] })
}

function withBound(feed: EventFeed): EventFeed {
  if (feed.items.length <= MOST_KEPT) return feed
  const items = feed.items.slice(0, MOST_KEPT)
  return { items, next: items.at(-1)?.id ?? null, cut: null }
}

/**
 * Adds the page of older events that was requested with `after`. If the known events end elsewhere by now, the page is
 * ignored: otherwise events in between would be missing.
 */
export function joinOlder(known: EventFeed, { items, next, cut }: EventFeed, after: string): EventFeed {
  if (known.next !== after) return known
  const seen = new Set(known.items.map(nameOf))
  return { items: [...known.items, ...items.filter((item) => !seen.has(nameOf(item)))], next, cut }
}

/** Names an event, wherever its place is. */
export function nameOf({ provider, eventId }: FeedEvent): string {
  return `${provider} ${eventId}`
}

/** A part of a search: the events that are older than `after`, and the time to search for them. */
export interface SearchPart {
  readonly after?: string
  readonly withinMs: number
}

// Their sum is the longest time that a search may take.
const SOON_MS = 150
const REST_MS = 1_850

/**
 * Reads the newest page of a search. If this takes long, because few events match, `onPart` gets the first results and
 * the search continues.
 */
export async function readInParts(
  read: (part: SearchPart) => Promise<EventFeed>,
  onPart: (part: EventFeed) => void,
): Promise<EventFeed> {
  const first = await read({ withinMs: SOON_MS })
  if (first.cut === null || first.next === null) return first
  onPart(first)
  return joinOlder(first, await read({ after: first.next, withinMs: REST_MS }), first.next)
}

/** The events in the places that they had, with what is known now. Newer ones are only counted, older ones follow. */
export function keepPlaces(held: readonly FeedEvent[] | null, items: readonly FeedEvent[]) {
  if (held === null) return { items, fresh: 0 }
  const now = new Map(items.map((item) => [nameOf(item), item]))
  const kept = new Set(held.map(nameOf))
  const others = items.filter((item) => !kept.has(nameOf(item)))
  const last = held.at(-1)
  const older = others.filter(({ id }) => last !== undefined && id < last.id)
  return {
    items: [...held.map((item) => now.get(nameOf(item)) ?? item), ...older],
    fresh: others.length - older.length,
  }
}
