import type { RateLimit } from '../../http/rate-limit.ts'

/** The limits of attempts to sign in: of an address, and of all together. */
export interface SignInLimits {
  readonly ofAddress: RateLimit
  readonly ofAll: RateLimit
}

/** Whose attempt it is, and what limits it. */
interface LimitedAttempt {
  readonly limits: SignInLimits
  readonly address: string
}

const EVERYBODY = 'all'

/**
 * Makes an attempt to sign in, with a code or at the issuer. An attempt counts from its start, so that never more than the
 * limit are in progress. One that succeeds stops counting.
 * @throws rateLimited if its address, or all together, have no attempt left, and whatever the attempt throws
 */
export async function limitSignIn<Opened>(
  { limits, address }: LimitedAttempt,
  attempt: () => Promise<Opened>,
): Promise<Opened> {
  refuseOverLimit({ limits, address })
  const count = (amount: number): void => {
    limits.ofAddress.count(address, amount)
    limits.ofAll.count(EVERYBODY, amount)
  }
  count(1)
  const opened = await attempt()
  count(-1)
  return opened
}

/**
 * Refuses a request if an attempt after it would be over the limit.
 * @throws rateLimited
 */
export function refuseOverLimit({ limits: { ofAddress, ofAll }, address }: LimitedAttempt): void {
  for (const [limit, key] of [[ofAddress, address] as const, [ofAll, EVERYBODY] as const]) {
    const allowance = limit.peek(key)
    if (allowance.remaining <= 0) throw limit.refusal(allowance)
  }
}
