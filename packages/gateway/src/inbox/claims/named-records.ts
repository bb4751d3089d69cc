import type { Filter } from 'mongodb'
import type { EventDocument } from '../event-document.ts'

/** The hint of statements that name their records. With a long backlog, the server might prefer to scan all of it. */
export const BY_ID = { _id: 1 }

/** A record, as far as a statement names it. */
export type NamedRecord = Pick<EventDocument, '_id'>

/** The filter that names these records. */
export function withIds(records: readonly NamedRecord[]): Pick<Filter<EventDocument>, '_id'> {
  return { _id: { $in: records.map(({ _id }) => _id) } }
}
