/**
 * By how many milliseconds the clocks of two primaries may differ unnoticed. A due time or a lease that ends more than
 * this after the latest end that a process can set was set by a wrong clock, and counts as passed.
 */
export const CLOCK_STEP_MS = 60_000
