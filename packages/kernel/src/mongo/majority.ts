import type { FindOptions } from 'mongodb'

/** Write concern of every raw write command, because `db.command` does not use the client's. */
export const MAJORITY = { w: 'majority', j: true, wtimeout: 4_000 } as const

/**
 * Options of a read that affects an answer: majority read from the primary, at most `maxTimeMS` milliseconds. Data that
 * a majority holds is never rolled back. If no majority is available, the read returns older data. A conditional write
 * based on that data then changes nothing.
 */
export function durableRead(maxTimeMS: number): Pick<FindOptions, 'readPreference' | 'readConcern' | 'maxTimeMS'> {
  return { readPreference: 'primary', readConcern: 'majority', maxTimeMS }
}

/**
 * The options of a read that only decides whether to try a conditional write. It reads the current data of the primary,
 * as the write does. A majority may still have an earlier state, for which the call would be refused.
 */
export const AS_WRITTEN = { readConcern: 'local', readPreference: 'primary' } as const
