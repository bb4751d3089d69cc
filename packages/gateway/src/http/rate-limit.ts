import { rateLimited } from '@oncehook/kernel/http/error-codes'
import type { AppError } from '@oncehook/kernel/http/errors'
import type { Clock } from '@oncehook/kernel/time/clock'

/** The rest of a key's limit in this window, and the seconds until the next window. */
interface Allowance {
  readonly remaining: number
  readonly resetSeconds: number
}

/** Counts by key in fixed windows. The counts are in memory, which is bounded whatever keys arrive. */
export type RateLimit = ReturnType<typeof createRateLimit>

// Keys beyond this number in one window share one count: they are limited together, and memory does not grow.
const MAX_KEYS = 20_000
const OVERFLOW = '\u0000overflow'

/**
 * Creates a limit per key and window; a `limit` of 0 means none. This is own code because the usual library keeps a timer and an entry for every key that anybody sends.
 * Here a window is one map that is discarded as a whole.
 */
export function createRateLimit(options: {
  /** The policy's name in the headers. */
  name: string
  limit: number
  windowSeconds: number
  clock: Clock
}) {
  const { name, limit, windowSeconds, clock } = options
  let counts = new Map<string, number>()
  let current = 0
  const read = (key: string): { key: string; used: number; resetSeconds: number } => {
    const seconds = clock.now() / 1000
    const window = Math.floor(seconds / windowSeconds)
    if (window !== current) {
      counts = new Map()
      current = window
    }
    const counted = counts.has(key) || counts.size < MAX_KEYS ? key : OVERFLOW
    const resetSeconds = Math.max(1, Math.ceil((window + 1) * windowSeconds - seconds))
    return { key: counted, used: counts.get(counted) ?? 0, resetSeconds }
  }
  const toAllowance = (used: number, resetSeconds: number): Allowance => ({
    remaining: limit === 0 ? Number.POSITIVE_INFINITY : limit - used,
    resetSeconds,
  })
  const headers = ({ remaining, resetSeconds }: Allowance): Record<string, string> =>
    limit === 0
      ? {}
      : {
          'RateLimit-Policy': `"${name}";q=${limit};w=${windowSeconds}`,
          RateLimit: `"${name}";r=${Math.max(0, Math.floor(remaining))};t=${resetSeconds}`,
        }
  return {
    limit,
    /** The allowance of a key, without counting. */
    peek(key: string): Allowance {
      const { used, resetSeconds } = read(key)
      return toAllowance(used, resetSeconds)
    },
    /** Adds one to the count of a key, or an amount, which may be a fraction. A negative one releases, at most all. */
    count(key: string, amount = 1): Allowance {
      const { key: counted, used, resetSeconds } = read(key)
      if (limit > 0) counts.set(counted, Math.max(0, used + amount))
      return toAllowance(used + amount, resetSeconds)
    },
    /** The header fields for an allowance (draft-ietf-httpapi-ratelimit-headers-10); none if there is no limit. */
    headers,
    /** The error for a key that has nothing left; the details are for the log. */
    refusal(allowance: Allowance, details: AppError['details'] = {}): AppError {
      const retryAfter = { 'Retry-After': String(allowance.resetSeconds) }
      return rateLimited(details, { headers: { ...headers({ ...allowance, remaining: 0 }), ...retryAfter } })
    },
  }
}
