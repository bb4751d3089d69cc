import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '@oncehook/kernel/log/logger'
import { type Backoff, backoffMs } from '@oncehook/kernel/time/waits'
import type { SettledClaim } from '../inbox/claims/claim.ts'
import type { Claims } from '../inbox/claims/claims.ts'
import type { Batch } from './waiting-claims.ts'

/** Dependencies of the writes before and after an attempt. */
interface AttemptDeps {
  readonly claims: Pick<Claims, 'begin' | 'settle'>
  readonly logger: Logger
  readonly random: () => number
  readonly onSettled: (settled: SettledClaim) => void
  readonly onLost: (claims: number) => void
}

const SETTLE_BACKOFF: Backoff = { baseMs: 500, capMs: 2_000 }
const SETTLE_REPEATS = 4

/**
 * Whether a batch may be attempted. For suspects, the attempt must be written first, so that no death they cause is
 * left uncounted.
 */
export async function beginAttempt({ claims, logger }: AttemptDeps, batch: Batch): Promise<boolean> {
  const suspects = batch.claims.filter(({ lost }) => lost > 0)
  if (suspects.length === 0) return true
  try {
    await claims.begin(suspects, batch.way === 'exclusive' ? 'alone' : 'together')
    return true
  } catch (error) {
    // This process finds them as stray records, and releases them.
    logger.warn({ error, events: batch.claims.length }, 'event.begin-failed')
    return false
  }
}

/**
 * Settles, and tries again after a failure: an election is shorter than a lease. Reports what was settled, and how many claims
 * were lost. If it gives up, this process finds the events as stray records and releases them. Fulfilment answers their next
 * attempt with `duplicate`.
 */
export async function settleAttempt(
  deps: AttemptDeps,
  settled: readonly SettledClaim[],
  isStopping: () => boolean,
): Promise<void> {
  const lost = settled.length === 0 ? [] : await trySettling(deps, settled, isStopping)
  if (lost === null) return
  if (lost.length > 0) deps.onLost(lost.length)
  const isLost = new Set(lost)
  for (const one of settled) if (!isLost.has(one)) deps.onSettled(one)
}

async function trySettling(
  { claims, logger, random }: AttemptDeps,
  settled: readonly SettledClaim[],
  isStopping: () => boolean,
): Promise<readonly SettledClaim[] | null> {
  for (let failures = 0; ; failures += 1) {
    try {
      return await claims.settle(settled)
    } catch (error) {
      const again = !isStopping() && failures < SETTLE_REPEATS
      logger.error({ error, events: settled.length, again }, 'event.settle-failed')
      if (!again) return null
      await sleep(backoffMs(SETTLE_BACKOFF, failures, random))
    }
  }
}
