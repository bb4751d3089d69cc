import type { Db } from 'mongodb'
import { EVENTS, type EventDocument } from '../../inbox/event-document.ts'
import { type EventFilter, toObjectId } from './event-filter.ts'
import { findNewest, type SearchBudget } from './find-newest.ts'

/** An id of unknown kind to search for, at one provider if one is given. */
export interface WantedId {
  readonly about: string
  readonly provider?: string | undefined
}

/**
 * The filter for an id: an event, by our id or by the provider's; else an order that has events; else a
 * payment. Only payments have no index, so the others are looked up first.
 */
export async function resolveAbout(
  db: Db,
  { about, provider }: WantedId,
  budget: SearchBudget,
): Promise<Pick<EventFilter, 'provider' | 'eventId' | 'orderId' | 'paymentId'>> {
  const from = provider === undefined ? {} : { provider }
  const _id = toObjectId(about)
  const options = { projection: { provider: 1, eventId: 1 } }
  const own = _id === null ? null : await db.collection<EventDocument>(EVENTS).findOne({ _id, ...from }, options)
  if (own !== null) return { provider: own.provider, eventId: own.eventId }
  // Both have an index, so asking for both at once costs less time than asking in turn.
  const kinds = [{ eventId: about }, { orderId: about }]
  const found = await Promise.all(
    kinds.map((one) => findNewest(db, { filter: { ...one, ...from }, after: undefined, limit: 1 }, budget)),
  )
  const kind = kinds.find((_, index) => found[index]?.records.length !== 0)
  return { ...(kind ?? { paymentId: about }), ...from }
}
