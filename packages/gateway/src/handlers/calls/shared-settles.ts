import { shareCalls } from '@oncehook/kernel/rpc/share-calls'
import type { SettledClaim } from '../../inbox/claims/claim.ts'
import type { Claims } from '../../inbox/claims/claims.ts'

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
