import type { Document } from 'mongodb'
import type { EventDocument } from '../event-document.ts'

/** A record, as far as a statement names it. Records of release 0.1.0 have no slot. */
export interface NamedRecord extends Pick<EventDocument, '_id'> {
  readonly slot?: number | undefined
}

/** Whether a mongos answers. Statements then name slots, so that they go only to the shards of their records. */
export type IsSharded = (() => boolean) | undefined

/**
 * Filters that together match exactly these records, one filter for each statement of a write. Behind a mongos, the
 * records of one range of slots share a filter: a range usually is on one shard. Otherwise all records share one, and
 * no slot is named, because that would only cost the server time.
 */
export function splitRecords(records: readonly NamedRecord[], isSharded: IsSharded): Document[] {
  if (isSharded?.() !== true) return [{ _id: { $in: records.map(({ _id }) => _id) } }]
  return [...Map.groupBy(records, rangeOf).values()].map((group) => nameRecords(group, isSharded))
}

/** One filter that matches exactly these records, for a read. */
export function nameRecords(records: readonly NamedRecord[], isSharded: IsSharded): Document {
  const _id = { $in: records.map((record) => record._id) }
  if (isSharded?.() !== true) return { _id }
  const slots = new Set(records.map(({ slot }) => slot))
  return slots.has(undefined) ? { _id } : { slot: { $in: [...slots] }, _id }
}

const RANGE_BITS = 6

function rangeOf({ slot }: NamedRecord): number {
  return slot === undefined ? -1 : slot >> RANGE_BITS
}
