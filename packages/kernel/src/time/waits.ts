/** Backoff with full jitter: a random wait between 0 and `min(capMs, baseMs * 2^attempt)`. */
export interface Backoff {
  readonly baseMs: number
  readonly capMs: number
}

/** Milliseconds to wait before attempt `attempt` (0 is the first retry). `random` returns a number in [0, 1). */
export function backoffMs(backoff: Backoff, attempt: number, random: () => number): number {
  return Math.floor(random() * Math.min(backoff.capMs, backoff.baseMs * 2 ** Math.min(attempt, 40)))
}

/** The result of `withTimeout` if the time limit was reached. */
export const TIMED_OUT: unique symbol = Symbol('late')

/**
 * Resolves to the value of a promise, or to TIMED_OUT after `ms` milliseconds. The promise itself is not cancelled.
 * Rejections pass through.
 */
export function withTimeout<T>(promise: Promise<T>, ms: number): Promise<T | typeof TIMED_OUT> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms, TIMED_OUT)
    const settle = <V>(end: (value: V) => void) => {
      return (value: V): void => {
        clearTimeout(timer)
        end(value)
      }
    }
    promise.then(settle(resolve), settle(reject))
  })
}

/**
 * The same look, which at most once at a time is in progress. A caller that comes in the meantime gets the result of the
 * one in progress, so a slow database is not asked more often the more callers wait for it.
 */
export function oneAtATime<T>(look: () => Promise<T>): () => Promise<T> {
  let latest: Promise<T> | undefined
  return () => {
    latest ??= look().finally(() => {
      latest = undefined
    })
    return latest
  }
}
