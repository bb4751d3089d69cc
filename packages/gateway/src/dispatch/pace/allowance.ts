/** What a handler's events may take up now. */
export interface Allowance {
  /** How many events may be sent now. */
  readonly room: number
  /** Whether nothing may be sent or claimed until somebody resumes the handler. */
  readonly isPaused: boolean
  /** For how long events may have been sent, in milliseconds: since this was created, or was last seen to be paused. */
  readonly activeForMs: number
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
export function createAllowance({ ratePerSecond, isPaused: looksPaused, now }: AllowanceDeps): Allowance {
  let pausedAt = now()
  const isPaused = (): boolean => {
    const isNow = looksPaused()
    if (isNow) pausedAt = now()
    return isNow
  }
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
    get room() {
      if (isPaused()) return 0
      fill()
      return Math.floor(filled)
    },
    get isPaused() {
      return isPaused()
    },
    get activeForMs() {
      isPaused()
      return now() - pausedAt
    },
    used(events) {
      fill()
      filled -= events
    },
  }
}
