import type { Clock } from '@oncehook/kernel/clock'
import type { Logger } from '@oncehook/kernel/logger'
import type { Claim, SettledClaim } from '../inbox/claims/claim.ts'
import type { Claims } from '../inbox/claims/claims.ts'
import type { UsedPauses } from './pace/fresh-pauses.ts'
import type { ProcessedBatch } from './process-batch.ts'

/** Dependencies of the dispatcher. Times are in milliseconds. */
export interface DispatcherDeps {
  readonly claims: Claims
  readonly process: (batch: readonly Claim[]) => Promise<ProcessedBatch>
  /** The providers whose events are not sent. */
  readonly pauses: UsedPauses
  readonly clock: Clock
  readonly random: () => number
  readonly logger: Logger
  readonly batchSize: number
  readonly concurrency: number
  readonly leaseMs: number
  /** How many processes an event may crash, of the gateway or of fulfilment. */
  readonly maxCrashes: number
  readonly onSettled: (settled: SettledClaim) => void
  readonly onLost: (count: number) => void
}
