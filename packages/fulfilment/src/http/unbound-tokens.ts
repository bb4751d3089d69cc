import type { Logger } from '@oncehook/kernel/logger'

const WARN_EVERY_MS = 60_000

/** Dependencies of the count of unbound service tokens. */
export interface UnboundTokensDeps {
  readonly logger: Logger
  readonly count: () => void
  /** Monotonic milliseconds. */
  readonly now: () => number
}

/**
 * Counts calls with an unbound service token, which a gateway of release 0.1.0 sends. Logs at most one warning per
 * minute, with the number of calls since the last one.
 */
export function createUnboundTokens({ logger, count, now }: UnboundTokensDeps): () => void {
  let calls = 0
  let warnedAt = Number.NEGATIVE_INFINITY
  return () => {
    count()
    calls += 1
    if (now() - warnedAt < WARN_EVERY_MS) return
    logger.warn({ calls }, 'service-token.unbound')
    warnedAt = now()
    calls = 0
  }
}
