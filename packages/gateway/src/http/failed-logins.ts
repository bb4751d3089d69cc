import { AppError } from '@oncehook/kernel/errors'
import type { Logger } from '@oncehook/kernel/logger'
import { type Addressed, clientAddress } from './client-address.ts'
import type { RateLimit } from './rate-limit.ts'

/** What failed authentication is judged and recorded with. */
export interface FailedLoginsDeps {
  /** Which API it is, for the log and the metric. */
  readonly api: 'orders' | 'operator'
  /** Failures of each address. */
  readonly limit: RateLimit
  readonly trustedProxyHops: number
  readonly logger: Logger
  readonly count: (api: string, reason: string) => void
}

/** Counts and limits failed authentication by address. */
export interface FailedLogins {
  /**
   * Counts a failure. The refusal to answer with: the given one, with the address for its line in the log; or, beyond
   * the limit of the address, `rate_limited`, which gets no line.
   */
  refuse(request: Addressed, error: AppError): AppError
  /** Whether a refusal is part of a summary, and has no line of its own in the log. */
  isSummarised(error: unknown): boolean
}

const SUMMARY_MS = 1_000
// Further addresses of one second share a line.
const MAX_LINES = 100

/**
 * Creates the record of failed authentication. Beyond its limit an address leaves one line a second
 * (`authentication.failing`), with the number of its failures. A valid token always passes: an attacker behind the same
 * address must not lock its holder out.
 */
export function createFailedLogins(deps: FailedLoginsDeps): FailedLogins {
  const { api, limit, trustedProxyHops, logger, count } = deps
  const summarised = new WeakSet<object>()
  const failures = new Map<string, number>()
  const write = (): void => {
    for (const [address, times] of failures) logger.warn({ api, address, times }, 'authentication.failing')
    failures.clear()
  }
  const add = (address: string): void => {
    if (failures.size === 0) setTimeout(write, SUMMARY_MS).unref()
    const key = failures.has(address) || failures.size < MAX_LINES ? address : 'others'
    failures.set(key, (failures.get(key) ?? 0) + 1)
  }
  return {
    refuse(request, error) {
      const address = clientAddress(request, trustedProxyHops)
      count(api, String(error.details.reason ?? error.code))
      const allowance = limit.count(address)
      if (allowance.remaining >= 0) {
        const { code, status, retry, message: says, headers, details } = error
        return new AppError(code, { status, retry, says }, { headers, details: { ...details, address } })
      }
      add(address)
      const refusal = limit.refusal(allowance)
      summarised.add(refusal)
      return refusal
    },
    isSummarised: (error) => typeof error === 'object' && error !== null && summarised.has(error),
  }
}
