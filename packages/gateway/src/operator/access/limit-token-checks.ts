import { unauthenticated } from '@oncehook/kernel/http/error-codes'
import { type AddressLimits, workOf } from '../../http/address-limits.ts'

/** The processor time for tokens that are not valid. */
export interface TokenChecks {
  readonly addresses: AddressLimits
  /** Monotonic milliseconds. */
  readonly now: () => number
}

/**
 * Limits the processor time that forged tokens of one address can use.
 * @throws rateLimited while none is left, and whatever the verifier throws
 */
export function limitTokenChecks<Found>(
  verify: (token: string) => Promise<Found>,
  { addresses, now }: TokenChecks,
  address: string,
): (token: string) => Promise<Found> {
  return async (token) => {
    const refusal = addresses.refusalOf(address, { isSigned: true, bytes: 0 })
    if (refusal !== null) throw refusal
    const startedAt = now()
    try {
      return await verify(token)
    } catch (error) {
      if (unauthenticated.is(error)) addresses.charge(address, workOf(now() - startedAt, token.length))
      throw error
    }
  }
}
