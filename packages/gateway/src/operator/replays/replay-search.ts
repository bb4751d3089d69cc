import { BSON, type Db, type Filter, type FindCursor, MongoServerError, type ObjectId } from 'mongodb'
import { EVENTS, type EventDocument } from '../../inbox/event-document.ts'
import type { ReplayDocument } from './replay-document.ts'

/** A part of a replay's search: matching events in order, and the id up to which nothing else matches. */
export interface SearchPart {
  readonly found: FindCursor<EventDocument>
  /** Null if the search goes to the end. */
  readonly end: ObjectId | null
}

/** The limits of a part of a search: matching events, and milliseconds in the database. */
export interface SearchLimits {
  readonly limit: number
  readonly maxTimeMS: number
}

/** Searches after the cursor of a replay, with any suitable index. Without one, it can expire without any match. */
export function searchToEnd(db: Db, replay: ReplayDocument, limits: SearchLimits): SearchPart {
  return { found: find(db, { replay, end: replay.until, limits }), end: null }
}

/** Searches the next `records` records after the cursor, whether they match or not. So its cost is limited. */
export async function searchRecords(
  db: Db,
  replay: ReplayDocument,
  { records, ...limits }: SearchLimits & { readonly records: number },
): Promise<SearchPart> {
  const [last] = await db
    .collection<EventDocument>(EVENTS)
    .find(idRange(replay, replay.until), { maxTimeMS: limits.maxTimeMS, hint: BY_ID })
    .project<Pick<EventDocument, '_id'>>({ _id: 1 })
    .sort(BY_ID)
    .skip(records - 1)
    .limit(1)
    .toArray()
  const end = last?._id ?? null
  return { found: find(db, { replay, end: end ?? replay.until, limits }).hint(BY_ID), end }
}

/** Whether the database aborted a search because it took too long. */
export function hasExpired(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === MAX_TIME_EXPIRED
}

const MAX_TIME_EXPIRED = 50
const BY_ID = { _id: 1 } as const

interface Search {
  readonly replay: ReplayDocument
  readonly end: ObjectId | null
  readonly limits: SearchLimits
}

function find(db: Db, { replay, end, limits }: Search): FindCursor<EventDocument> {
  const meant = BSON.EJSON.parse(replay.filter) as Filter<EventDocument>
  return db
    .collection<EventDocument>(EVENTS)
    .find({ $and: [meant, idRange(replay, end)] }, { maxTimeMS: limits.maxTimeMS })
    .sort(BY_ID)
    .limit(limits.limit)
}

function idRange({ cursor }: ReplayDocument, end: ObjectId | null): Filter<EventDocument> {
  if (end === null && cursor === null) return {}
  return { _id: { ...(end === null ? {} : { $lte: end }), ...(cursor === null ? {} : { $gt: cursor }) } }
}
