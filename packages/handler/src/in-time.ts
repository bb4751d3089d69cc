import { TIMED_OUT, withTimeout } from '@oncehook/kernel/with-timeout'
import { StoreUnavailable } from './store.ts'

/**
 * Waits for an answer of the database, for a limited time. What was asked continues. Rejections pass through.
 * @throws StoreUnavailable if there is no answer in time
 */
export async function inTime<T>(asked: Promise<T>, ms: number): Promise<T> {
  const answer = await withTimeout(asked, ms)
  if (answer === TIMED_OUT) throw new StoreUnavailable(new Error(`It did not answer within ${ms} ms`))
  return answer as T
}

/** The limits of waiting for a database that should answer at once, in milliseconds. */
export const LIMITS_MS = {
  /** Added to the wait for another transaction. */
  margin: 2_000,
  /** A commit, or messages that are stored before it. */
  commit: 10_000,
  /** The end of a transaction that failed. */
  rollback: 2_000,
} as const
