import { type Backoff, backoffMs } from '@oncehook/kernel/time/waits'

const PROBES: Backoff = { baseMs: 250, capMs: 5_000 }

/**
 * Keeps calls away from a handler that does not answer. A call that fails as a whole opens it; directly after a success, only a
 * second failure in a row does, because the first may be one call too many, or one event's fault. While it is open, one call at a
 * time is a probe, at growing intervals, and a success closes it. Own code, because `cockatiel` and `opossum` wrap each call and
 * read the clock of the process; here the dispatcher asks before it claims events.
 */
export class Breaker {
  readonly #now: () => number
  readonly #random: () => number
  #failures = 0
  #isSpared = false
  #isDoubtful = false
  #nextProbe = 0

  constructor(now: () => number, random: () => number) {
    this.#now = now
    this.#random = random
  }

  get isClosed(): boolean {
    return this.#failures === 0
  }

  /** Whether a call is allowed now: always if closed, otherwise when the next probe is due. */
  get allowsCall(): boolean {
    return this.isClosed || this.#now() >= this.#nextProbe
  }

  /** Whether the last call failed, even if that was spared: nobody knows whether the handler works. */
  get isDoubtful(): boolean {
    return this.#isDoubtful
  }

  succeeded(): void {
    this.#failures = 0
    this.#isSpared = true
    this.#isDoubtful = false
  }

  failed(): void {
    this.#isDoubtful = true
    if (this.#isSpared) {
      this.#isSpared = false
      return
    }
    // At least half of the wait. Otherwise a series of small random numbers would overload a service that is starting.
    const wait = Math.max(
      backoffMs(PROBES, this.#failures, this.#random),
      backoffMs(PROBES, this.#failures, () => 0.5),
    )
    this.#nextProbe = this.#now() + wait
    this.#failures = Math.min(this.#failures + 1, 30)
  }
}
