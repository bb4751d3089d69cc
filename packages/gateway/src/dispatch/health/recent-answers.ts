/** What fulfilment has answered recently, by the given clock. */
export class RecentAnswers {
  readonly #now: () => number
  #verdictAt = Number.NEGATIVE_INFINITY
  #hadMismatch = false
  #readSince = false
  #hasFailed = false
  #reliableFrom = Number.POSITIVE_INFINITY

  /** `now`: milliseconds that never go backwards. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Records a verdict. An internal error of fulfilment is not one. */
  recordDecision(): void {
    this.#verdictAt = this.#now()
  }

  /**
   * Whether there was a verdict in the last minute. Then fulfilment works, and an internal error concerns one order.
   */
  get hasDecision(): boolean {
    return this.#now() - this.#verdictAt < RECENT_MS
  }

  /** Records whether a call was answered, or failed as a whole. */
  recordCall(result: 'answered' | 'failed'): void {
    if (result === 'failed') {
      this.#hasFailed = true
      this.#reliableFrom = Number.POSITIVE_INFINITY
    } else if (this.#reliableFrom === Number.POSITIVE_INFINITY) {
      this.#reliableFrom = this.#now() + (this.#hasFailed ? RECENT_MS : 0)
    }
  }

  /** Whether calls are answered: since the first call, or for a minute since one failed. */
  get isReliable(): boolean {
    return this.#now() >= this.#reliableFrom
  }

  /** Records a call with events that fulfilment could read. */
  readEvents(): void {
    this.#readSince = this.#hadMismatch
  }

  /** Records a call in which fulfilment could read no event. */
  readNothing(): void {
    this.#hadMismatch = true
    this.#readSince = false
  }

  /** Whether fulfilment has read events since the last call in which it could read none. False before such a call. */
  get hasReadSinceMismatch(): boolean {
    return this.#readSince
  }
}

const RECENT_MS = 60_000
