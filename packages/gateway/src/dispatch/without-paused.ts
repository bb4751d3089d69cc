import type { Claim } from '../inbox/claims/claim.ts'
import type { PausedProviders } from '../inbox/pauses/provider-pauses.ts'

/** Claims of paused providers, and all others. */
interface Separated {
  readonly paused: readonly Claim[]
  readonly claims: readonly Claim[]
}

/** Separates the claims whose provider was paused since they were made. */
export function withoutPaused(claims: readonly Claim[], providers: PausedProviders): Separated {
  if (providers.size === 0) return { paused: [], claims }
  const { true: paused = [], false: others = [] } = Object.groupBy(
    claims,
    ({ provider }) => `${providers.has(provider)}`,
  )
  return { paused, claims: others }
}
