import type { AppError } from '@oncehook/kernel/http/errors'
import type { Logger } from '@oncehook/kernel/log/logger'
import type { SummaryLines } from '../../summary-lines.ts'
import { type Addressed, clientAddress } from '../client-address.ts'
import type { RateLimit } from '../rate-limit.ts'

/** The dependencies of `createFailedLogins`. */
export interface FailedLoginsDeps {
  /** Which API it is, for the log and the metric. */
  readonly api: 'orders' | 'operator'
  /** The limit of failures per address. */
  readonly limit: RateLimit
  readonly trustedProxyHops: number
  readonly logger: Logger
  readonly summaries: Pick<SummaryLines, 'writeLater'>
  readonly count: (api: string, reason: string) => void
}

/** Counts and limits failed authentication by address. */
export interface FailedLogins {
  /**
   * Counts a failure, and returns the error to send. It is the given one, with the address for the log line. If the
   * address is over its limit, it is `rate_limited`, which gets no log line.
   */
  refuse(request: Addressed, error: AppError): AppError
  /** Whether an error is part of a summary. It then has no separate log line. */
  isSummarised(error: unknown): boolean
}

// Addresses beyond this number share a line in the same second.
const MAX_LINES = 100

/**
 * Creates the record of failed authentication. An address over its limit gets one log line per second
 * (`authentication.failing`), with the number of its failures. A valid token is always accepted: an attacker behind the
 * same address must not lock out its holder.
 */
export function createFailedLogins(deps: FailedLoginsDeps): FailedLogins {
  const { api, limit, trustedProxyHops, logger, summaries, count } = deps
  const summarised = new WeakSet<object>()
  const failures = new Map<string, number>()
  const write = (): void => {
    for (const [address, times] of failures) logger.warn({ api, address, times }, 'authentication.failing')
    failures.clear()
  }
  const add = (address: string): void => {
    if (failures.size === 0) summaries.writeLater(write)
    const key = failures.has(address) || failures.size < MAX_LINES ? address : 'others'
    failures.set(key, (failures.get(key) ?? 0) + 1)
  }
  return {
    refuse(request, error) {
      const address = clientAddress(request, trustedProxyHops)
      count(api, String(error.details.reason ?? error.code))
      const allowance = limit.count(address)
      if (allowance.remaining >= 0) return error.with({ details: { address } })
      add(address)
      const refusal = limit.refusal(allowance)
      summarised.add(refusal)
      return refusal
    },
    isSummarised: (error) => typeof error === 'object' && error !== null && summarised.has(error),
  }
}
