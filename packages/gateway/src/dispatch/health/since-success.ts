/** What was known about failures of single events when a call was sent. */
export interface Sending {
  readonly period: number
  readonly failedAlone: string | null
}

/** The failed calls counted against an event since the last success. */
interface Counts {
  together: number
  alone: number
}

/**
 * The failed calls that this process has counted against events since a call last succeeded. It is not known yet
 * whether an event or an outage was the cause. If fulfilment then dies at another event alone, it was an outage.
 */
export class SinceSuccess {
  readonly #counts = new Map<string, Counts>()
  #period = 0
  #failedAlone: string | null = null
  #isOutage = false

  /** A call succeeded, so the earlier counts are confirmed. */
  succeeded(): void {
    this.#period += 1
    this.#failedAlone = null
    this.#isOutage = false
    this.#counts.clear()
  }

  /** Keep this with a call: if fulfilment dies during the call, that death may end this call too. */
  get sending(): Sending {
    return { period: this.#period, failedAlone: this.#failedAlone }
  }

  /**
   * Records that fulfilment died at this event alone. It is an outage if it had died at another event alone before the
   * call.
   */
  diedAlone(id: string, { period, failedAlone }: Sending): void {
    this.#isOutage ||= period === this.#period && failedAlone !== null && failedAlone !== id
  }

  /** Whether fulfilment has died at two events, each sent alone, without a success in between. */
  get isOutage(): boolean {
    return this.#isOutage
  }

  /** Records that a failed call counts against an event. */
  count(id: string, company: 'alone' | 'together'): void {
    if (company === 'alone') this.#failedAlone = id
    const counts = this.#counts.get(id) ?? { together: 0, alone: 0 }
    counts[company] += 1
    this.#counts.set(id, counts)
  }

  /**
   * How many times an event failed together with others since then. An outage causes this too, so it does not count
   * towards the end of the event.
   */
  together(id: string): number {
    return this.#counts.get(id)?.together ?? 0
  }

  /** Removes and returns what was counted against an event since then. */
  takeBack(id: string): number {
    const { together, alone } = this.#counts.get(id) ?? { together: 0, alone: 0 }
    this.#counts.delete(id)
    return together + alone
  }
}
