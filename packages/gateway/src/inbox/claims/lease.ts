import type { Document } from 'mongodb'
import { positiveOr, timeOf } from '../record-expressions.ts'

// Timestamps of the server have whole seconds only. Without one more second, a lease could end too early.
const TIMESTAMP_STEP_MS = 1_000

/**
 * Whether the lease of a record has ended. A record claimed on insert has no `leaseUntil` yet: its lease begins when
 * the server writes the record. The length is that of the holder's leases: during a rolling restart with another
 * `LEASE_MS` it differs from ours.
 */
export function leaseHasEnded(ownLeaseMs: number): Document {
  const leaseMs = positiveOr('leaseMs', ownLeaseMs)
  const endOfFirst = { $add: [timeOf('claimedAt'), leaseMs, TIMESTAMP_STEP_MS] }
  const end = { $ifNull: [timeOf('leaseUntil'), endOfFirst] }
  // No lease is longer than half of this. The other half is for the clock of a new primary that is slightly behind.
  const latest = { $add: ['$$NOW', leaseMs, leaseMs, TIMESTAMP_STEP_MS] }
  return { $or: [{ $lt: [end, '$$NOW'] }, { $gt: [end, latest] }] }
}
