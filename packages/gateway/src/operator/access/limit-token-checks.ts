import { unauthenticated } from '@oncehook/kernel/error-codes'
import { type CheckBudget, workOf } from '../../http/webhooks/check-budget.ts'
import type { KnownAddresses } from '../../http/webhooks/known-addresses.ts'

/** The processor time for tokens that are not valid. */
export interface TokenChecks {
  readonly budget: Pick<CheckBudget, 'refusalOf' | 'charge'>
  /** The addresses that have sent a valid token. */
  readonly known: Pick<KnownAddresses, 'add'>
  /** Monotonic milliseconds. */
  readonly now: () => number
}

/**
 * Limits the processor time that forged tokens of one address, and of all unknown addresses together, can use.
 * @throws rateLimited while none is left, and whatever the verifier throws
 */
export function limitTokenChecks<Found>(
  verify: (token: string) => Promise<Found>,
  { budget, known, now }: TokenChecks,
  address: string,
): (token: string) => Promise<Found> {
  return async (token) => {
    const refusal = budget.refusalOf(address, false)
    if (refusal !== null) throw refusal
    const startedAt = now()
    try {
      const found = await verify(token)
      known.add(address)
      return found
    } catch (error) {
      if (unauthenticated.is(error)) budget.charge(address, workOf(now() - startedAt, token.length))
      throw error
    }
  }
}
