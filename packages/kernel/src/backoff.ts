/** How waits grow: full jitter between 0 and `min(capMs, baseMs * 2^attempt)`. */
export interface Backoff {
  readonly baseMs: number
  readonly capMs: number
}

/** Milliseconds to wait before try number `attempt` (0 for the first repeat). `random` yields [0, 1). */
export function backoffMs(backoff: Backoff, attempt: number, random: () => number): number {
  return Math.floor(random() * Math.min(backoff.capMs, backoff.baseMs * 2 ** Math.min(attempt, 40)))
}
