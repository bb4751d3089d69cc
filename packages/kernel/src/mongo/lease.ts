import type { Document } from 'mongodb'
import { CLOCK_STEP_MS } from './clock-step.ts'

/*
 * Leases and due times, as expressions on the database's clock. Only one clock counts, so that all processes agree on
 * who holds a document.
 */

/** The time that is `ms` milliseconds from now: the end of a lease, or a due time. */
export function fromNow(ms: number): Document {
  return { $add: ['$$NOW', ms] }
}

/** The latest time that a correct clock sets up to `ms` milliseconds ahead. A later one comes from a clock that was ahead. */
export function latestFromNow(ms: number): Document {
  return fromNow(ms + CLOCK_STEP_MS)
}

/**
 * Whether the lease in `leaseUntil` has ended. `leaseMs` is the longest lease that is granted. A lease that ends later
 * comes from a clock that was ahead, so it counts as ended.
 */
export function leaseHasEnded(leaseMs: number): Document {
  return { $or: [{ $lte: ['$leaseUntil', '$$NOW'] }, { $gt: ['$leaseUntil', latestFromNow(leaseMs)] }] }
}
