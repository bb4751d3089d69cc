/** Wall-clock time as a dependency, in milliseconds since 1970 (UTC). */
export interface Clock {
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

/** Milliseconds on a clock that is never set back. Only differences mean something. */
export function monotonicMs(): number {
  return performance.now()
}
