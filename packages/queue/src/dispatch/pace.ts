export interface Allowance {
  readonly room: number
  /** How many events may be sent in a second: infinity if there is no limit. */
  readonly perSecond: number
  readonly isPaused: boolean
  used(events: number): void
}

export interface AllowanceDeps {
  /** Events in a second. Null: no limit. */
  readonly ratePerSecond: number | null
  readonly isPaused: () => boolean
  readonly now: () => number
}

/** A bucket that holds what the rate allows in a second: after a rest, no more is sent at once. */
export function createAllowance({ ratePerSecond, isPaused, now }: AllowanceDeps): Allowance {
  const capacity = ratePerSecond ?? Number.POSITIVE_INFINITY
  let filled = capacity
  let filledAt = now()
  const fill = (): void => {
    if (ratePerSecond === null) return
    const at = now()
    filled = Math.min(capacity, filled + ((at - filledAt) / 1_000) * ratePerSecond)
    filledAt = at
  }
  return {
    perSecond: capacity,
    get room() {
      if (isPaused()) return 0
      fill()
      return Math.floor(filled)
    },
    get isPaused() {
      return isPaused()
    },
    used(events) {
      fill()
      filled -= events
    },
  }
}

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

  joined(): void {
    this.#grown += 1
    this.#outgrows ||= this.#grown > this.#most
  }

  handled(events: number): void {
    this.#grown = Math.max(0, this.#grown - events)
  }

  ended(): void {
    this.#grown = 0
    this.#outgrows = false
  }
}

/** How many tasks a dispatcher may hold, and the room that there must be before it claims more due ones. */
export interface ClaimSizes {
  readonly mostHeld: number
  readonly leastClaimed: number
  /** Suspects in a call: half a batch, because the call that broke may have had too many to be answered in time. */
  readonly suspects: number
}

/** The sizes of a dispatcher that sends up to `concurrency` batches at a time. Its claims last `leaseMs`. */
export function claimSizes({
  batchSize,
  concurrency,
  allowance,
  leaseMs,
}: {
  readonly batchSize: number
  readonly concurrency: number
  readonly allowance: Allowance
  readonly leaseMs: number
}): ClaimSizes {
  // What it holds must be sent before its claims end: at a limited rate, half of that time at most.
  const mostInTime = Math.max(1, Math.floor((allowance.perSecond * leaseMs) / 2_000))
  const mostHeld = Math.min(2 * concurrency * Math.max(2, batchSize), mostInTime)
  const leastClaimed = Math.min(Math.max(2 * concurrency, batchSize), Math.ceil(mostHeld / 2))
  return { mostHeld, leastClaimed, suspects: Math.ceil(batchSize / 2) }
}
