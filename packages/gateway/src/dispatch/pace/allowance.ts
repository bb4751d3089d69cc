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
