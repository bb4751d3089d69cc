import { hash } from 'node:crypto'
import type { Clock } from '@oncehook/kernel/clock'
import type { Caller } from '@oncehook/kernel/trpc/handle-rpc'
import { bearerToken, holderOf } from '../http/bearer-token.ts'
import type { OperatorGrant, Role, TokenHolders } from '../token-holders.ts'
import type { AccessTokens, IssuedIdentity } from './access-token.ts'

/** An operator that calls. */
export interface Operator extends Caller {
  readonly roles: ReadonlySet<Role>
  /** Null for one of `OPERATOR_TOKENS`. */
  readonly identity: IssuedIdentity | null
}

/** Whose tokens are taken. */
export interface OperatorTokens {
  /** Those of the settings. */
  readonly holders: TokenHolders<OperatorGrant>
  /** Those of the issuer; null: there is none. */
  readonly accessTokens: AccessTokens | null
  readonly clock: Clock
}

const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/

/**
 * The operator whose token an `Authorization` header carries. A token of the settings is found without the issuer.
 * @throws unauthenticated, alike for every reason; the reason is in the details, for the log
 * @throws unavailable where the issuer would have to be asked and cannot be
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
