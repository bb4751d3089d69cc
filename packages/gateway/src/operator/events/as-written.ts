/**
 * The options of a read that only decides whether to try a conditional write. It reads the current data of the primary,
 * as the write does. A majority may still have an earlier state, for which the call would be refused.
 */
export const AS_WRITTEN = { readConcern: 'local', readPreference: 'primary' } as const
