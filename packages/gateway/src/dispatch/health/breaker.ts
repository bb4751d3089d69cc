import { type Backoff, backoffMs } from '@oncehook/kernel/time/waits'

/** Keeps calls away from a dependency that is down: one probe at a time, at growing intervals. */
export interface Breaker {
  /** Whether all calls are allowed. */
  readonly closed: boolean
  /** Whether a call is allowed at `now` (milliseconds): always if closed, otherwise when the next probe is due. */
  allows(now: number): boolean
  succeeded(): void
  failed(now: number): void
}

/**
 * Creates a breaker that opens at the first failure and closes at the first success. Own code, because `cockatiel` and
 * `opossum` wrap each call and read the clock of the process; here the dispatcher asks before it claims events.
 */
export function createBreaker(probes: Backoff, random: () => number): Breaker {
  let failures = 0
  let nextProbe = 0
  return {
    get closed() {
      return failures === 0
    },
    // If the wait is longer than any that was set, the clock was set back.
    allows: (now) => failures === 0 || now >= nextProbe || nextProbe - now > probes.capMs,
    succeeded() {
      failures = 0
    },
    failed(now) {
      // At least half of the wait. Otherwise a series of small random numbers would overload a service that is
      // starting.
      nextProbe =
        now + Math.max(backoffMs(probes, failures, random), Math.min(probes.capMs, probes.baseMs * 2 ** failures) / 2)
      failures = Math.min(failures + 1, 30)
    },
  }
}
