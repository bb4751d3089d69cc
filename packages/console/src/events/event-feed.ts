import type { Answers, ListedEvent } from '../api/operator-client.ts'

/** The events that are known to the page, newest first, and where older ones begin. */
export interface EventFeed {
  readonly items: readonly ListedEvent[]
  /** Null if there are no older ones. */
  readonly next: string | null
  /** How far back the search came before its time was over. Null if it came to the end or the page is full. */
  readonly cut: Answers['events']['list']['cut']
}

/** How many events the page keeps. Older ones are read again when they are wanted. */
const MOST_KEPT = 5_000

/** Joins the newest page with what is known. If events in between are missing, the page alone is the feed. */
export function joinNewest(known: EventFeed | undefined, page: EventFeed): EventFeed {
  const { next } = page
  if (known === undefined || next === null) return page
  const isGap = !known.items.some(({ id }) => id >= next) && known.items.length > 0
  if (isGap || page.cut !== null) return page
  const items = [...page.items, ...known.items.filter(({ id }) => id < next)]
  const kept = items.slice(0, MOST_KEPT)
  return kept.length < items.length ? { items: kept, next: kept.at(-1)?.id ?? null, cut: null } : { ...known, items }
}

/** Adds a page of older events to what is known. */
export function joinOlder(known: EventFeed, { items, next, cut }: EventFeed): EventFeed {
  const seen = new Set(known.items.map(({ id }) => id))
  return { items: [...known.items, ...items.filter(({ id }) => !seen.has(id))], next, cut }
}
