import { type Backoff, backoffMs } from '@oncehook/kernel/backoff'

/** Keeps calls away from a dependency that is down: one probe at a time, at growing intervals. */
export interface Breaker {
  /** Whether calls go through freely. */
  readonly closed: boolean
  /** Whether a call may be made at `now` (milliseconds): always when closed, else when the next probe is due. */
  allows(now: number): boolean
  succeeded(): void
  failed(now: number): void
}

/** Creates a breaker that opens at the first failure and closes at the first success. */
export function createBreaker(probes: Backoff, random: () => number): Breaker {
  let failures = 0
  let nextProbe = 0
  return {
    get closed() {
      return failures === 0
    },
    // A wait longer than any that was set means that the clock was set back.
    allows: (now) => failures === 0 || now >= nextProbe || nextProbe - now > probes.capMs,
    succeeded() {
      failures = 0
    },
    failed(now) {
      // At least half of the wait, or a run of small random numbers would hammer a service that is starting.
      nextProbe =
        now + Math.max(backoffMs(probes, failures, random), Math.min(probes.capMs, probes.baseMs * 2 ** failures) / 2)
      failures = Math.min(failures + 1, 30)
    },
  }
}
