import type { AggregateOptions, Db, Document, Filter, ObjectId } from 'mongodb'
import { EVENTS, type EventDocument } from '../../inbox/event-document.ts'
import { hasExpired } from '../replays/replay-search.ts'
import { beforeCursor, type EventFilter, idRangeOf, toMongoFilter } from './event-filter.ts'
import type { SearchBudget } from './find-newest.ts'
import { INDEXED_MS, idOrderOf, indexedSearches } from './indexed-searches.ts'
import { type SearchStep, walkSlices } from './walk-slices.ts'

/** Counts of events. */
export interface EventCounts {
  readonly events: number
  /** Of these, the events that were received more than once. */
  readonly repeated: number
  /** Of these, the events that were also received with another body. */
  readonly changed: number
  /** How far back the events were counted in the time. Null if all were counted. */
  readonly cut: { readonly searchedTo: Date } | null
}

/**
 * Counts the events that match a filter, newest first, until the time is up.
 * @throws MongoServerError if the index that it uses is not built yet
 */
export async function countEvents(db: Db, filter: EventFilter, budget: SearchBudget): Promise<EventCounts> {
  const endsAt = budget.now() + budget.ms
  let counts = { events: 0, repeated: 0, changed: 0 }
  for await (const { found, reached } of countSteps(db, filter)) {
    if (found !== null) {
      counts = {
        events: counts.events + found.events,
        repeated: counts.repeated + found.repeated,
        changed: counts.changed + found.changed,
      }
    }
    // A count is about a whole slice, so the end of the slice follows.
    if (found === null && budget.now() >= endsAt) return { ...counts, cut: { searchedTo: reached.getTimestamp() } }
  }
  return { ...counts, cut: null }
}

interface Counted extends Omit<EventCounts, 'cut'> {
  /** The oldest event of the count. */
  readonly _id: ObjectId
}

async function* countSteps(db: Db, filter: EventFilter): AsyncGenerator<SearchStep<Counted>> {
  const meant = await toMongoFilter(db, filter)
  const searches = await indexedSearches(db, filter)
  if (searches.length > 0) {
    const parts = searches.map(({ states, hint }) => {
      const options = { maxTimeMS: INDEXED_MS, ...(hint === undefined ? {} : { hint }) }
      return count(db, { $and: [meant, beforeCursor(undefined), states] }, options).toArray()
    })
    const counted = await Promise.all(parts).catch((error: unknown) => {
      if (hasExpired(error)) return null
      throw error
    })
    for (const found of counted?.flat() ?? []) yield { found, reached: found._id }
    if (counted !== null) return
  }
  const order = idOrderOf(filter)
  yield* walkSlices(db, { order, range: idRangeOf(filter), after: undefined }, (slice, maxTimeMS) =>
    count(db, { $and: [meant, slice] }, { maxTimeMS, hint: order.hint }),
  )
}

function count(db: Db, match: Filter<EventDocument>, options: AggregateOptions) {
  const group = { _id: null, ...COUNTS, oldest: { $min: '$_id' } }
  const project = { _id: '$oldest', events: 1, repeated: 1, changed: 1 }
  return db
    .collection<EventDocument>(EVENTS)
    .aggregate<Counted>([{ $match: match }, { $group: group }, { $project: project }], options)
}

// In an expression, a text would be greater than any number.
const above = (field: string, least: number): Document => ({
  $sum: { $cond: [{ $and: [{ $isNumber: field }, { $gt: [field, least] }] }, 1, 0] },
})
const COUNTS = { events: { $sum: 1 }, repeated: above('$deliveries', 1), changed: above('$mismatches', 0) }
