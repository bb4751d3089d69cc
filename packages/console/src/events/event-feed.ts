import type { ListedEvent } from '../api/operator-client.ts'

/** The events that are known to the page, newest first, and whether there are older ones. */
export interface EventFeed {
  readonly items: readonly ListedEvent[]
  readonly hasOlder: boolean
}

/** How many events the page keeps. Older ones are read again when they are wanted. */
const MOST_KEPT = 5_000

/** Joins the newest page with what is known. If events in between are missing, the page alone is the feed. */
export function joinNewest(known: EventFeed | undefined, page: EventFeed): EventFeed {
  if (known === undefined || !page.hasOlder) return page
  const oldest = page.items.at(-1)?.id ?? ''
  if (!known.items.some(({ id }) => id >= oldest)) return page
  return keep([...page.items, ...known.items.filter(({ id }) => id < oldest)], known.hasOlder)
}

/** Adds a page of older events to what is known. */
export function joinOlder(known: EventFeed, page: EventFeed): EventFeed {
  const oldest = known.items.at(-1)?.id ?? 'g'
  return { items: [...known.items, ...page.items.filter(({ id }) => id < oldest)], hasOlder: page.hasOlder }
}

/** Joins the results of two searches, each newest first, so that nothing is left out in between. */
export function joinSearches(a: EventFeed, b: EventFeed): EventFeed {
  const ends = [a, b].filter(({ hasOlder }) => hasOlder).map(({ items }) => items.at(-1)?.id ?? '')
  const oldest = ends.reduce((latest, end) => (end > latest ? end : latest), '')
  const byId = new Map([...a.items, ...b.items].map((event) => [event.id, event]))
  const items = [...byId.values()].filter(({ id }) => id >= oldest).sort((x, y) => (x.id < y.id ? 1 : -1))
  return { items, hasOlder: ends.length > 0 }
}

function keep(items: readonly ListedEvent[], hasOlder: boolean): EventFeed {
  return { items: items.slice(0, MOST_KEPT), hasOlder: hasOlder || items.length > MOST_KEPT }
}
