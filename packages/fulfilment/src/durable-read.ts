import type { FindOptions } from 'mongodb'

/**
 * Options for every read that affects an answer: majority read from the primary within 4 s. A local read can return a
 * write that is rolled back later. If no majority is available, the read returns older data. A conditional write
 * based on that data then changes nothing.
 */
export const DURABLE_READ = {
  readPreference: 'primary',
  readConcern: 'majority',
  maxTimeMS: 4_000,
} as const satisfies FindOptions
