import { hash } from 'node:crypto'
import type { Caller } from '@oncehook/kernel/rpc/handle-rpc'
import { Secret } from '@oncehook/kernel/secrets/secret'
import type { Clock } from '@oncehook/kernel/time/clock'
import { bearerToken, holderOf } from '../../http/authentication/bearer-token.ts'
import type { OperatorGrant, Role, TokenHolders } from '../../token-holders.ts'
import { isSessionToken, type Session } from '../sign-in/sign-ins.ts'
import type { AccessTokens, IssuedIdentity } from './access-token.ts'

/** The operator who makes a call. */
export interface Operator extends Caller {
  readonly roles: ReadonlySet<Role>
  /** Null for a token of `OPERATOR_TOKENS`. */
  readonly identity: IssuedIdentity | null
  /** When the token or the session ends, in milliseconds since 1970. Null if it does not end. */
  readonly endsAt: number | null
  /** The token of the settings or of the issuer that was sent, or that the session was opened with. */
  readonly credential: Secret
  /** The session whose token was sent. Null if it was a token of the settings or of the issuer. */
  readonly session: OperatorSession | null
}

/** A session that was named in a call: its id in the audit log, and its token. */
interface OperatorSession {
  readonly id: string
  readonly token: Secret
}

/** The tokens that are accepted. */
export interface OperatorTokens {
  /** The tokens of the settings. */
  readonly holders: TokenHolders<OperatorGrant>
  /** The tokens of the issuer. Null if there is no issuer. */
  readonly accessTokens: AccessTokens | null
  /** Finds the session of a token. Throws unauthenticated if there is none. */
  readonly sessions: (token: string) => Promise<Session>
  readonly clock: Clock
}

const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/

/**
 * Identifies the operator by the token of an `Authorization` header. A token of the settings is found without the
 * issuer. A session always has the current operator, roles and expiry of the token that opened it.
 * @throws unauthenticated, the same for every reason; the reason is in the details, for the log
 * @throws unavailable if the issuer must be asked and cannot be reached
 */
export async function identifyOperator(authorization: string | undefined, tokens: OperatorTokens): Promise<Operator> {
  const token = bearerToken(authorization)
  if (token === null || !isSessionToken(token) || tokens.holders.has(hash('sha256', token))) {
    return { ...(await identifyByToken(authorization, tokens)), session: null }
  }
  const { id, credential, endsAt } = await tokens.sessions(token)
  const operator = await identifyByToken(`Bearer ${credential.reveal()}`, tokens)
  const end = Math.min(endsAt, operator.endsAt ?? Number.POSITIVE_INFINITY)
  return { ...operator, endsAt: end, session: { id, token: new Secret(token) } }
}

async function identifyByToken(
  authorization: string | undefined,
  { holders, accessTokens, clock }: Omit<OperatorTokens, 'sessions'>,
): Promise<Omit<Operator, 'session'>> {
  const token = bearerToken(authorization)
  const credential = new Secret(token ?? '')
  if (accessTokens !== null && token !== null && JWT.test(token) && !holders.has(hash('sha256', token))) {
    return { ...(await accessTokens(token)), credential }
  }
  const { name, grant, notAfter } = holderOf(authorization, { holders, now: clock.now() })
  return { name, roles: grant.roles, identity: null, endsAt: notAfter, credential }
}
