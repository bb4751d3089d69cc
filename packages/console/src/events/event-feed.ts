// The events that the list knows: pages of a search joined with each other and with the changes of the stream. Only data, no
// components: `use-event-feed.ts` reads the pages and follows the stream.

import type { Answers, ListedEvent } from '../api/operator-client.ts'

/** The events that are known to the page, newest first, and where older ones begin. */
export interface EventFeed {
  readonly items: readonly ListedEvent[]
  /** Null if there are no older ones. */
  readonly next: string | null
  /** How far back the search came before its time was over. Null if it came to the end or the page is full. */
  readonly cut: Answers['events']['list']['cut']
}

/** How many events the page keeps. Older ones are read again when they are needed. */
const MOST_KEPT = 5_000

/** A page that was read again, and what was known before and after the reading. */
interface Reread {
  readonly page: EventFeed
  readonly before: EventFeed | undefined
  readonly known: EventFeed | undefined
  /** Whether changes are missing from what is known. */
  readonly isBroken: boolean
  /** Whether somebody reads what is known: it then stays as it is. */
  readonly isKept: boolean
}

/** The feed after the newest page was read again, and whether it now shows all changes. */
export function takePage({ page, before, known, isBroken, isKept }: Reread): {
  readonly feed: EventFeed
  readonly isWhole: boolean
} {
  const isNew = isBroken || hasGap(before, page)
  if (isNew && isKept && known !== undefined) return { feed: known, isWhole: false }
  return { feed: isNew ? page : joinNewest(known, page), isWhole: true }
}

/** Whether events are missing between the newest page and the known events. */
function hasGap(known: EventFeed | undefined, { next }: EventFeed): boolean {
  if (known === undefined || next === null || known.items.length === 0) return false
  return !known.items.some(({ id }) => id >= next)
}

/** Joins the newest page with the known events. If events in between are missing, the feed is the page alone. */
export function joinNewest(known: EventFeed | undefined, page: EventFeed): EventFeed {
  const { next } = page
  if (known === undefined || next === null || page.cut !== null || hasGap(known, page)) return page
  return withBound({ ...known, items: [...page.items, ...known.items.filter(({ id }) => id < next)] })
}

/**
 * Applies events that were received or changed: known events stay in their place, and new ones are inserted in order.
 * Events older than the feed are ignored: their page will contain them.
 */
export function applyChanges(known: EventFeed, changed: readonly ListedEvent[]): EventFeed {
  const changes = new Map(changed.map((event) => [event.id, event]))
  const updated = known.items.map((event) => changes.get(event.id) ?? event)
  for (const { id } of known.items) changes.delete(id)
  const { next } = known
  const added = [...changes.values()].filter(({ id }) => next === null || id > next)
  if (added.length === 0) return { ...known, items: updated }
  return withBound({ ...known, items: [...added, ...updated].toSorted((one, other) => (one.id < other.id ? 1 : -1)) })
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
  const seen = new Set(known.items.map(({ id }) => id))
  return { items: [...known.items, ...items.filter(({ id }) => !seen.has(id))], next, cut }
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
