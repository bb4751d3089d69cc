import type { Logger } from '@oncehook/kernel/log/logger'
import type { Clock } from '@oncehook/kernel/time/clock'
import type { Claim, SettledClaim } from '../inbox/claims/claim.ts'
import type { Claims } from '../inbox/claims/claims.ts'
import type { Heartbeat } from './heartbeat.ts'
import type { Allowance } from './pace/allowance.ts'
import type { UsedPauses } from './pace/fresh-pauses.ts'
import type { ProcessedBatch } from './process-batch.ts'
import type { Turn } from './turns/process-turns.ts'

/** The lease under which a dispatcher holds its claims. */
export type Lease = Pick<Heartbeat, 'isAlive' | 'start' | 'stop' | 'end'>

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
  /** How many events are claimed at once. Default: a batch. */
  readonly claimSize?: number
  /** The handler whose tasks it sends. */
  readonly handler: string
  /** The lease of this process, if another dispatcher keeps it. Default: this one keeps it. */
  readonly lease?: Lease
  /** Its place among the dispatchers of this process. Default: it is the only one. */
  readonly turn?: Turn
  /** How much may be sent. Default: there is no limit. */
  readonly allowance?: Allowance
  readonly leaseMs: number
  /** How many processes an event may crash, of the gateway or of fulfilment. */
  readonly maxCrashes: number
  readonly onSettled: (settled: SettledClaim) => void
  readonly onLost: (count: number) => void
}
