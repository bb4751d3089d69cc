import { type EventFeed, joinOlder } from './event-feed.ts'

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
