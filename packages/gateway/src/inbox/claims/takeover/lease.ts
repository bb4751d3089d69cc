import type { Document } from 'mongodb'
import { positiveOr, timeOf } from '../../record-expressions.ts'

// Timestamps of the server have whole seconds only. Without one more second, a lease could end too early.
const TIMESTAMP_STEP_MS = 1_000

/**
 * Whether a lease that ends at `end` is over. Its length is that in `leaseMs` of the document: during a rolling restart
 * with another `LEASE_MS` it differs from ours.
 */
export function isOver(end: Document, ownLeaseMs: number): Document {
  const leaseMs = positiveOr('leaseMs', ownLeaseMs)
  // No lease is longer than half of this. The other half is for the clock of a new primary that is slightly behind.
  const latest = { $add: ['$$NOW', leaseMs, leaseMs, TIMESTAMP_STEP_MS] }
  return { $or: [{ $lt: [end, '$$NOW'] }, { $gt: [end, latest] }] }
}

/**
 * Whether the lease that a record itself has is over. It counts if `owners` does not say how long the holder lives. A
 * record claimed on insert has no `leaseUntil`: its lease begins when the server writes the record.
 */
export function leaseHasEnded(ownLeaseMs: number): Document {
  const endOfFirst = { $add: [timeOf('claimedAt'), positiveOr('leaseMs', ownLeaseMs), TIMESTAMP_STEP_MS] }
  return isOver({ $ifNull: [timeOf('leaseUntil'), endOfFirst] }, ownLeaseMs)
}
