import type { Db, ObjectId } from 'mongodb'
import { EVENTS, type EventDocument } from '../event-document.ts'
import { NO_BODY } from '../evidence-encryption.ts'
import { msSince } from '../record-expressions.ts'

/** A dead record, as far as its revival depends on it. */
export interface DeadRecord {
  readonly _id: ObjectId
  /** Milliseconds since the first delivery, by the clock of the database. */
  readonly ageMs: number
  /** Whether the record itself has a body. An empty body counts as none. */
  readonly hasBody: boolean
  /** The document that has its body. */
  readonly bodyId?: string
}

/** Reads those of the records that are dead, by their ids. */
export async function readDead(
  db: Db,
  records: Iterable<Pick<EventDocument, '_id' | 'state'>>,
): Promise<ReadonlyMap<string, DeadRecord>> {
  const dead = [...records].filter(({ state }) => state === 'dead')
  if (dead.length === 0) return new Map()
  const found = await db
    .collection(EVENTS)
    .find({ _id: { $in: dead.map(({ _id }) => _id) } })
    .project<DeadRecord>({ ageMs: msSince('receivedAt'), hasBody: { $not: [LACKS_BODY] }, bodyId: 1 })
    .toArray()
  return new Map(found.map((one) => [String(one._id), one]))
}

/** Whether a record has no body, and none is stored for it elsewhere. The body of a record with `bodyId` is not in it. */
export const LACKS_BODY = {
  $and: [{ $eq: [{ $ifNull: ['$raw', NO_BODY] }, NO_BODY] }, { $eq: [{ $type: '$sealed' }, 'missing'] }],
}
