/** What a handler's events may take up now. */
export interface Allowance {
  /** How many events may be sent now. */
  readonly room: number
  /** How many events may be sent in a second: infinity if there is no limit. */
  readonly perSecond: number
  /** Whether nothing may be sent or claimed until somebody resumes the handler. */
  readonly isPaused: boolean
  /** Events were sent. */
  used(events: number): void
}

/** What an allowance depends on. */
export interface AllowanceDeps {
  /** Events in a second. Null: no limit. */
  readonly ratePerSecond: number | null
  readonly isPaused: () => boolean
  /** Milliseconds that never go backwards. */
  readonly now: () => number
}

/**
 * Creates the allowance of a handler in one process: a bucket that holds what the rate allows in a second. So after a rest,
 * at most one second's worth of events is sent at once.
 */
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

/** Milliseconds: the waits between two questions, and a clock that never goes backwards. */
export interface PaceOptions {
  readonly leastMs: number
  readonly mostMs: number
  readonly now: () => number
}

/**
 * Says when to ask the database again. The wait doubles while the answers are empty, and is short again after one that
 * is not. Something that is known to become due is asked for in time. It is meant to be looked at every `leastMs`.
 */
export class IdlePace {
  readonly #options: PaceOptions
  #waitMs: number
  #askAt = Number.NEGATIVE_INFINITY
  #dueAt = Number.POSITIVE_INFINITY

  constructor(options: PaceOptions) {
    this.#options = options
    this.#waitMs = options.leastMs
  }

  /** Whether it is time to ask. */
  get isTime(): boolean {
    return this.#options.now() >= Math.min(this.#askAt, this.#dueAt)
  }

  /** Records an answer. */
  answered(isEmpty: boolean): void {
    const { leastMs, mostMs, now } = this.#options
    const at = now()
    if (at >= this.#dueAt) this.#dueAt = Number.POSITIVE_INFINITY
    this.#waitMs = isEmpty ? Math.min(this.#waitMs * 2, mostMs) : leastMs
    // The looks are not exactly `leastMs` apart.
    this.#askAt = at + this.#waitMs - leastMs / 2
  }

  /** Records that something becomes due in this many milliseconds. */
  expect(ms: number): void {
    this.#dueAt = Math.min(this.#dueAt, this.#options.now() + ms)
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
