/** The time of day as a dependency, in milliseconds since 1970 (UTC). */
export interface Clock {
  now(): number
}

/** The clock of this process. */
export const systemClock: Clock = { now: () => Date.now() }
