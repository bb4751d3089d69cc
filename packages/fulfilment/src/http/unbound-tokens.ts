import type { Logger } from '@oncehook/kernel/logger'

const WARN_EVERY_MS = 60_000

/** What counts the calls whose tokens are not bound to them. */
export interface UnboundTokensDeps {
  readonly logger: Logger
  readonly count: () => void
  /** Milliseconds, never set back. */
  readonly now: () => number
}

/**
 * Creates what notes a call with a token that is good for any call, as a gateway of release 0.1.0 makes them: each is
 * counted, and one warning a minute says how many there were since the last one.
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
