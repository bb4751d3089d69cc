/** What fulfilment has shown of itself lately, by the clock given. */
export class RecentAnswers {
  readonly #now: () => number
  #verdictAt = Number.NEGATIVE_INFINITY
  #hadMismatch = false
  #readSince = false

  /** `now`: milliseconds that only go forward. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Notes a verdict; a fault of fulfilment is none. */
  gaveVerdict(): void {
    this.#verdictAt = this.#now()
  }

  /** Whether there was a verdict in the last minute: fulfilment then works, and a fault is that of one order. */
  get hasVerdict(): boolean {
    return this.#now() - this.#verdictAt < RECENT_MS
  }

  /** Notes a call with events that fulfilment could read. */
  readEvents(): void {
    this.#readSince = this.#hadMismatch
  }

  /** Notes a call of which fulfilment could read no event. */
  readNothing(): void {
    this.#hadMismatch = true
    this.#readSince = false
  }

  /** Whether fulfilment has read events since the last call of which it could read none. False before such a call. */
  get hasReadSinceMismatch(): boolean {
    return this.#readSince
  }
}

const RECENT_MS = 60_000
