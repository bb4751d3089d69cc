import { unauthenticated } from '@oncehook/kernel/error-codes'
import { type CheckBudget, workOf } from '../../http/webhooks/check-budget.ts'
import type { KnownAddresses } from '../../http/webhooks/known-addresses.ts'
import type { AccessTokens } from './access-token.ts'

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
export function limitTokenChecks(
  verify: AccessTokens,
  { budget, known, now }: TokenChecks,
  address: string,
): AccessTokens {
  return async (token) => {
    const refusal = budget.refusalOf(address, false)
    if (refusal !== null) throw refusal
    const startedAt = now()
    try {
      const operator = await verify(token)
      known.add(address)
      return operator
    } catch (error) {
      if (unauthenticated.is(error)) budget.charge(address, workOf(now() - startedAt, token.length))
      throw error
    }
  }
}
