import type { Logger } from '@oncehook/kernel/log/logger'
import type { Claims } from './claims.ts'
import { isIndexMissing } from './index-missing.ts'

/** Dependencies of the guarded searches. */
export interface IndexedClaimsDeps {
  readonly logger: Logger
  /** Milliseconds on a clock that is never set back. */
  readonly now: () => number
}

const LOG_EVERY_MS = 60_000

/**
 * The same claims, except for the searches: while the index of a search is missing or still being built, the search
 * finds nothing. This is logged once a minute. Events that this process holds in memory are still processed.
 */
export function indexedClaims(claims: Claims, { logger, now }: IndexedClaimsDeps): Claims {
  let loggedAt = Number.NEGATIVE_INFINITY
  const orElse = async <T>(search: Promise<T>, nothing: T): Promise<T> => {
    try {
      return await search
    } catch (error) {
      if (!isIndexMissing(error)) throw error
      if (now() - loggedAt >= LOG_EVERY_MS) {
        loggedAt = now()
        logger.warn({ error }, 'index.not-ready')
      }
      return nothing
    }
  }
  return {
    ...claims,
    claimDue: (...args) => orElse(claims.claimDue(...args), []),
    takeOver: (...args) => orElse(claims.takeOver(...args), { taken: [], poisoned: 0, againInMs: 0 }),
    releaseStrays: (...args) => orElse(claims.releaseStrays(...args), 0),
  }
}
