import type { FindOptions } from 'mongodb'

/**
 * The options of every read that an answer rests on: what a majority holds, asked of the primary, within 4 s. A local read
 * can show a write that is rolled back later. While the majority is away the read gives older data; a conditional write
 * that rests on it then changes nothing.
 */
export const DURABLE_READ = {
  readPreference: 'primary',
  readConcern: 'majority',
  maxTimeMS: 4_000,
} as const satisfies FindOptions
