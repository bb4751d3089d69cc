import { hash } from 'node:crypto'
import type { Clock } from '@oncehook/kernel/clock'
import type { Caller } from '@oncehook/kernel/trpc/handle-rpc'
import { bearerToken, holderOf } from '../../http/authentication/bearer-token.ts'
import type { OperatorGrant, Role, TokenHolders } from '../../token-holders.ts'
import type { AccessTokens, IssuedIdentity } from './access-token.ts'

/** The operator who makes a call. */
export interface Operator extends Caller {
  readonly roles: ReadonlySet<Role>
  /** Null for a token of `OPERATOR_TOKENS`. */
  readonly identity: IssuedIdentity | null
}

/** The tokens that are accepted. */
export interface OperatorTokens {
  /** The tokens of the settings. */
  readonly holders: TokenHolders<OperatorGrant>
  /** The tokens of the issuer. Null if there is no issuer. */
  readonly accessTokens: AccessTokens | null
  readonly clock: Clock
}

const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/

/**
 * Identifies the operator by the token of an `Authorization` header. A token of the settings is found without the
 * issuer.
 * @throws unauthenticated, the same for every reason; the reason is in the details, for the log
 * @throws unavailable if the issuer must be asked and cannot be reached
 */
export async function identifyOperator(
  authorization: string | undefined,
  { holders, accessTokens, clock }: OperatorTokens,
): Promise<Operator> {
  const token = bearerToken(authorization)
  if (accessTokens !== null && token !== null && JWT.test(token) && !holders.has(hash('sha256', token))) {
    return accessTokens(token)
  }
  const { name, grant } = holderOf(authorization, { holders, now: clock.now() })
  return { name, roles: grant.roles, identity: null }
}
