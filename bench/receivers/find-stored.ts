import type { Collection, Filter } from 'mongodb'

/** The properties of a stored event that the benchmark reads. */
export interface StoredEvent {
  readonly eventId: string
  /** The payment, and the order that it pays. Only our own records have them. */
  readonly objectId?: string
  readonly orderId?: string
}

const CHUNK = 10_000

/**
 * Finds the events with these ids among those that match the filter. It asks for them in chunks, because the ids of a
 * million events are too many for one command.
 */
export async function findStored(
  collection: Collection<StoredEvent>,
  filter: Filter<StoredEvent>,
  eventIds: readonly string[],
): Promise<StoredEvent[]> {
  const unique = [...new Set(eventIds)]
  const found: StoredEvent[] = []
  for (let from = 0; from < unique.length; from += CHUNK) {
    const eventId = { $in: unique.slice(from, from + CHUNK) }
    const cursor = collection.find(
      { ...filter, eventId },
      { projection: { _id: 0, eventId: 1, objectId: 1, orderId: 1 } },
    )
    for await (const event of cursor) found.push(event)
  }
  return found
}
