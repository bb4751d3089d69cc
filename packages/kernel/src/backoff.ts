/** Backoff with full jitter: a random wait between 0 and `min(capMs, baseMs * 2^attempt)`. */
export interface Backoff {
  readonly baseMs: number
  readonly capMs: number
}

/** Milliseconds to wait before attempt `attempt` (0 is the first retry). `random` returns a number in [0, 1). */
export function backoffMs(backoff: Backoff, attempt: number, random: () => number): number {
  return Math.floor(random() * Math.min(backoff.capMs, backoff.baseMs * 2 ** Math.min(attempt, 40)))
}
