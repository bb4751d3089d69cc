/**
 * Detects whether a backlog grows although it is processed at the gentle pace: more new records join it than are
 * handled. It only counts, so no clock can mislead it.
 */
export class BacklogGrowth {
  readonly #most: number
  #grown = 0
  #outgrows = false

  /** `most`: by how many events the backlog may grow before the gentle pace counts as too slow. */
  constructor(most: number) {
    this.#most = most
  }

  /** Whether the gentle pace was too slow at any time since the backlog began. */
  get outgrowsGentlePace(): boolean {
    return this.#outgrows
  }

  /** A new record joins the backlog. */
  joined(): void {
    this.#grown += 1
    this.#outgrows ||= this.#grown > this.#most
  }

  /** Some of its events were handled. */
  handled(events: number): void {
    this.#grown = Math.max(0, this.#grown - events)
  }

  /** The backlog is empty. */
  ended(): void {
    this.#grown = 0
    this.#outgrows = false
  }
}
