import { type EventFeed, joinOlder } from './event-feed.ts'

/** Which part of a search to read: what is older than `after`, within a time. */
export interface SearchPart {
  readonly after?: string
  readonly withinMs: number
}

// Together as long as a search may take.
const SOON_MS = 150
const REST_MS = 1_850

/**
 * Reads the newest page of a search. If it cannot be read at once, because few events match, `onPart` gets what was found
 * soon, and the search continues.
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
