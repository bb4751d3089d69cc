/**
 * Tolerated difference between the clocks of two primaries, in milliseconds. A due time or lease that exceeds the
 * longest possible one by more than this was set by a wrong clock and counts as passed.
 */
export const CLOCK_STEP_MS = 60_000
