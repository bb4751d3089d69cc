import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '@oncehook/kernel/log/logger'
import { type Backoff, backoffMs } from '@oncehook/kernel/time/waits'
import type { SettledClaim } from '../inbox/claims/claim.ts'
import type { Claims } from '../inbox/claims/claims.ts'

const BACKOFF: Backoff = { baseMs: 500, capMs: 2_000 }
const REPEATS = 4

/**
 * Settles, and tries again after a failure: an election is shorter than a claim. Resolves to those whose claim was lost. Null if
 * it has given up: the tasks are due again when their claims end, and the handler answers their next attempt with `duplicate`.
 */
export async function settleRepeatedly(
  {
    claims,
    logger,
    random,
  }: { readonly claims: Pick<Claims, 'settle'>; readonly logger: Logger; readonly random: () => number },
  settled: readonly SettledClaim[],
  mayRepeat: () => boolean,
): Promise<ReadonlySet<SettledClaim> | null> {
  for (let failures = 0; ; failures += 1) {
    try {
      return new Set(await claims.settle(settled))
    } catch (error) {
      const again = mayRepeat() && failures < REPEATS
      logger.error({ error, events: settled.length, again }, 'event.settle-failed')
      if (!again) return null
      await sleep(backoffMs(BACKOFF, failures, random))
    }
  }
}
