/**
 * The options of a read that only decides whether to try a conditional write. It reads what the primary holds now, as
 * the write sees it. A majority may not hold that yet, and the call would be refused for a state that has just ended.
 */
export const AS_WRITTEN = { readConcern: 'local', readPreference: 'primary' } as const
