/** When fulfilment last gave a verdict about an order, by the clock given. */
export class RecentAnswers {
  readonly #now: () => number
  #verdictAt = Number.NEGATIVE_INFINITY

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
}

const RECENT_MS = 60_000
