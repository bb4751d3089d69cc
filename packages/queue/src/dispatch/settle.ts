import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '@oncehook/kernel/log/logger'
import { shareCalls } from '@oncehook/kernel/rpc/share-calls'
import { type Backoff, backoffMs } from '@oncehook/kernel/time/waits'
import type { SettledClaim } from '../claim/claim.ts'
import type { Claims } from '../claim/claims.ts'

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

// A command that hangs fails only after more than five seconds.
const SHARING = { most: 100, patienceMs: 500 }

/** The same claims. Outcomes that come while others are written share the next command: each waits for a majority. */
export function settlesShared<Settling extends Pick<Claims, 'settle'>>(claims: Settling): Settling {
  const settle = shareCalls(async (settled: readonly SettledClaim[]): Promise<boolean[]> => {
    const lost = new Set(await claims.settle(settled))
    return settled.map((one) => lost.has(one))
  }, SHARING)
  return {
    ...claims,
    async settle(settled: readonly SettledClaim[]) {
      const lost = await settle(settled)
      return settled.filter((_, index) => lost[index])
    },
  }
}
