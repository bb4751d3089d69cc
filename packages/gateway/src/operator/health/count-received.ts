import { type Db, type Document, type Filter, ObjectId } from 'mongodb'
import { EVENTS, type EventDocument } from '../../inbox/event-document.ts'
import type { SearchBudget } from '../events/find-newest.ts'
import { walkSlices } from '../events/walk-slices.ts'

/** The events stored within the last hour. */
export interface ReceivedEvents {
  readonly byProvider: ReadonlyMap<string, ReceivedCounts>
  /** An hour ago, or later if the time was over before. */
  readonly countedFrom: Date
}

/** The events of a provider within the last minute, and since `countedFrom`. */
interface ReceivedCounts {
  readonly lastMinute: number
  readonly lastHour: number
}

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const HINT = { _id: 1 } as const

/** Counts the events of each provider, newest first, until the time budget is used up. `at` is in milliseconds. */
export async function countReceived(db: Db, at: number, budget: SearchBudget): Promise<ReceivedEvents> {
  const endsAt = budget.now() + budget.ms
  const range = { _id: { $gte: idOf(at - HOUR_MS) } }
  const byProvider = new Map<string, ReceivedCounts>()
  const read = (slice: Filter<EventDocument>, maxTimeMS: number) =>
    db
      .collection<EventDocument>(EVENTS)
      .aggregate<CountedSlice>([{ $match: slice }, ...countSince(at - MINUTE_MS)], { maxTimeMS, hint: HINT })
  for await (const { found, reached } of walkSlices(
    db,
    { order: { records: {}, hint: HINT }, range, after: undefined },
    read,
  )) {
    for (const { name, lastMinute, lastHour } of found?.providers ?? []) {
      const counts = byProvider.get(name) ?? { lastMinute: 0, lastHour: 0 }
      byProvider.set(name, { lastMinute: counts.lastMinute + lastMinute, lastHour: counts.lastHour + lastHour })
    }
    // A count is about a whole slice, so the end of the slice follows.
    if (found === null && budget.now() >= endsAt) return { byProvider, countedFrom: reached.getTimestamp() }
  }
  return { byProvider, countedFrom: new Date(at - HOUR_MS) }
}

interface CountedSlice {
  readonly _id: ObjectId
  readonly providers: readonly (ReceivedCounts & { readonly name: string })[]
}

function countSince(minute: number): Document[] {
  const isNew = { $cond: [{ $gte: ['$_id', idOf(minute)] }, 1, 0] }
  return [
    { $group: { _id: '$provider', oldest: { $min: '$_id' }, lastMinute: { $sum: isNew }, lastHour: { $sum: 1 } } },
    {
      $group: {
        _id: null,
        oldest: { $min: '$oldest' },
        providers: { $push: { name: '$_id', lastMinute: '$lastMinute', lastHour: '$lastHour' } },
      },
    },
    { $project: { _id: '$oldest', providers: 1 } },
  ]
}

function idOf(at: number): ObjectId {
  return ObjectId.createFromTime(Math.floor(at / 1_000))
}
