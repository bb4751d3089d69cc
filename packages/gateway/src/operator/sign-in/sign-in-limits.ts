import type { RateLimit } from '../../http/rate-limit.ts'

/** The limits of attempts to sign in: of an address, and of all together. */
export interface SignInLimits {
  readonly ofAddress: RateLimit
  readonly ofAll: RateLimit
}

const EVERYBODY = 'all'

/**
 * Refuses an attempt if its address, or all together, have none left.
 * @throws rateLimited
 */
export function refuseOverLimit({ ofAddress, ofAll }: SignInLimits, address: string): void {
  for (const [limit, key] of [[ofAddress, address] as const, [ofAll, EVERYBODY] as const]) {
    const allowance = limit.peek(key)
    if (allowance.remaining <= 0) throw limit.refusal(allowance)
  }
}

/** Counts an attempt. */
export function countAttempt({ ofAddress, ofAll }: SignInLimits, address: string): void {
  ofAddress.count(address)
  ofAll.count(EVERYBODY)
}
