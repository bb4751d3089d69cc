/** What was known of lone failures when a call was sent. */
export interface Sending {
  readonly period: number
  readonly failedAlone: string | null
}

/** What has been counted against an event since the last success. */
interface Counts {
  together: number
  alone: number
}

/**
 * What this process has counted against events since a call last succeeded. Nothing shows yet whether an event or an
 * outage was the cause: where fulfilment then dies at another event alone, it was an outage.
 */
export class SinceSuccess {
  readonly #counts = new Map<string, Counts>()
  #period = 0
  #failedAlone: string | null = null
  #isOutage = false

  /** A call succeeded: what was counted before is confirmed. */
  succeeded(): void {
    this.#period += 1
    this.#failedAlone = null
    this.#isOutage = false
    this.#counts.clear()
  }

  /** To be kept with a call: a death that comes while it is under way may be the end of it too. */
  get sending(): Sending {
    return { period: this.#period, failedAlone: this.#failedAlone }
  }

  /** Notes that fulfilment died at this event alone: an outage, where it has died at another one before the call. */
  diedAlone(id: string, { period, failedAlone }: Sending): void {
    this.#isOutage ||= period === this.#period && failedAlone !== null && failedAlone !== id
  }

  /** Whether fulfilment has died at two events, each alone, without a success in between. */
  get isOutage(): boolean {
    return this.#isOutage
  }

  /** Notes that a failed call counts against an event. */
  count(id: string, company: 'alone' | 'together'): void {
    if (company === 'alone') this.#failedAlone = id
    const counts = this.#counts.get(id) ?? { together: 0, alone: 0 }
    counts[company] += 1
    this.#counts.set(id, counts)
  }

  /** How often an event failed in company since then: an outage does that too, so it does not help to end the event. */
  together(id: string): number {
    return this.#counts.get(id)?.together ?? 0
  }

  /** Takes out what has been counted against an event since then. */
  takeBack(id: string): number {
    const { together, alone } = this.#counts.get(id) ?? { together: 0, alone: 0 }
    this.#counts.delete(id)
    return together + alone
  }
}
