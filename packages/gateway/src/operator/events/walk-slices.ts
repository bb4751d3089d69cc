import type { Db, Filter, ObjectId } from 'mongodb'
import { EVENTS, type EventDocument } from '../../inbox/event-document.ts'
import { hasExpired } from '../replays/replay-search.ts'

/** An index in the order of ids, and the records that it contains. */
export interface IdOrder {
  readonly records: Filter<EventDocument>
  readonly hint: string | { readonly _id: 1 }
}

/** What to walk through: the records of an index whose ids are in a range, older than `after`. */
export interface Walk {
  readonly order: IdOrder
  readonly range: Filter<EventDocument>
  readonly after: ObjectId | undefined
}

/** A step of a search: what was found, or null at the end of a slice. Everything down to `reached` was searched. */
export interface SearchStep<Found> {
  readonly found: Found | null
  readonly reached: ObjectId
}

/** The limits of one command. */
const SLICE_MS = 2_000
const FIRST_RECORDS = 500
const MOST_RECORDS = 5_000
const LEAST_RECORDS = 50

/**
 * Reads records in slices of a limited number, newest first, whether they match or not. This limits the cost of each
 * command, and a search without a suitable index can stop and continue anywhere. Ends when all records are read. `read`
 * finds results in a slice, newest first; the `_id` of a result is that of the oldest record it covers.
 * @throws MongoServerError with code 50 if even a small slice takes longer than 2 s
 */
export async function* walkSlices<Found extends { readonly _id: ObjectId }>(
  db: Db,
  walk: Walk,
  read: (slice: Filter<EventDocument>, maxTimeMS: number) => AsyncIterable<Found>,
): AsyncGenerator<SearchStep<Found>> {
  let reached = walk.after
  let size = FIRST_RECORDS
  for (;;) {
    try {
      const end = await findEnd(db, { ...walk, after: reached }, size)
      const slice = { $and: [walk.order.records, walk.range, idsBetween(reached, end)] }
      for await (const found of read(slice, SLICE_MS)) {
        reached = found._id
        yield { found, reached }
      }
      if (end === null) return
      reached = end
      yield { found: null, reached }
      size = Math.min(size * 10, MOST_RECORDS)
    } catch (error) {
      if (!hasExpired(error) || size <= LEAST_RECORDS) throw error
      size /= 10
    }
  }
}

/** The id of the last record of a slice. Null if there are fewer. The index alone answers this. */
async function findEnd(db: Db, { order, range, after }: Walk, size: number): Promise<ObjectId | null> {
  const [last] = await db
    .collection<EventDocument>(EVENTS)
    .find({ $and: [order.records, range, idsBetween(after, null)] }, { maxTimeMS: SLICE_MS, hint: order.hint })
    .project<Pick<EventDocument, '_id'>>({ _id: 1 })
    .sort({ _id: -1 })
    .skip(size - 1)
    .limit(1)
    .toArray()
  return last?._id ?? null
}

// Ids of other types are not ours.
function idsBetween(before: ObjectId | undefined, end: ObjectId | null): Filter<EventDocument> {
  return {
    _id: {
      $type: 'objectId',
      ...(before === undefined ? {} : { $lt: before }),
      ...(end === null ? {} : { $gte: end }),
    },
  }
}
