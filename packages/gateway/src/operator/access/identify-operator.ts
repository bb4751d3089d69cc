import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { unauthenticated } from '@oncehook/kernel/http/error-codes'
import type { Caller } from '@oncehook/kernel/rpc/handle-rpc'
import { Secret } from '@oncehook/kernel/secrets/secret'
import type { Clock } from '@oncehook/kernel/time/clock'
import { type AddressLimits, workOf } from '../../http/address-limits.ts'
import {
  bearerToken,
  CHALLENGE,
  holderOf,
  type OperatorGrant,
  type Role,
  type TokenHolders,
} from '../../http/authentication.ts'
import { clientAddress } from '../../http/client-address.ts'
import { namedToken, refuseForeignCall, removedSessionCookie, sessionTokensOf } from '../sign-in/session-cookie.ts'
import type { Session, SignIns } from '../sign-in/sign-ins.ts'
import type { AccessTokens, IssuedIdentity } from './access-token.ts'

export interface Operator extends Caller {
  readonly roles: ReadonlySet<Role>
  /** Null for a token of `OPERATOR_TOKENS`. */
  readonly identity: IssuedIdentity | null
  /** When the token or the session ends, in milliseconds since 1970. Null if it does not end. */
  readonly endsAt: number | null
  /** The token of the settings or of the issuer that was sent, or that the session was opened with. */
  readonly credential: Secret
  /** The session whose cookie was sent. Null if it was a token of the settings or of the issuer. */
  readonly session: (Pick<Session, 'id' | 'digest'> & { readonly removedCookie: string }) | null
}

const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/

/** @throws unauthenticated, crossSite, sessionAmbiguous, rateLimited, overloaded, or unavailable if the issuer must be asked and cannot be reached */
export type IdentifyRequest = (authorization: string | undefined, request: IncomingMessage) => Promise<Operator>

/**
 * Creates the identification of operators by an `Authorization` header, which need not be the header of the request, or,
 * without one, by the cookie of a session. A token of the settings is found without the issuer. A session always has the
 * current operator, roles and expiry of the token that opened it. Checks that cost something are limited by the address of
 * the request. Unauthenticated is the same for every reason; the reason is in the details, for the log.
 */
export function createIdentifyRequest(deps: {
  holders: TokenHolders<OperatorGrant>
  /** The tokens of the issuer. Null if there is no issuer. */
  accessTokens: AccessTokens | null
  signIns: Pick<SignIns, 'findSession'>
  tokenChecks: TokenChecks
  clock: Clock
}): IdentifyRequest {
  const { holders, accessTokens, signIns, tokenChecks, clock } = deps
  const isSetting = (token: string): boolean => holders.has(hash('sha256', token))
  const findSession = async (token: string, connection: Socket): Promise<Session> => {
    const session = await signIns.findSession(token, connection)
    if (session === null) throw unauthenticated({ reason: 'session_unknown' }, CHALLENGE)
    return session
  }
  const identifyByToken = async (authorization: string | undefined, address: string) => {
    const token = bearerToken(authorization)
    const credential = new Secret(token ?? '')
    if (accessTokens !== null && token !== null && JWT.test(token) && !isSetting(token)) {
      return { ...(await limitTokenChecks(accessTokens, tokenChecks, address)(token)), credential }
    }
    const { name, grant, notAfter } = holderOf(authorization, { holders, now: clock.now() })
    return { name, roles: grant.roles, identity: null, endsAt: notAfter, credential }
  }
  return async (authorization, request) => {
    const address = clientAddress(request, 0) // There is no proxy in front of the private listener.
    const tokens = authorization === undefined ? sessionTokensOf(request) : []
    if (tokens.length === 0) return { ...(await identifyByToken(authorization, address)), session: null }
    refuseForeignCall(request)
    const token = namedToken(request, tokens)
    if (token === undefined) throw unauthenticated({ reason: 'session_other' }, CHALLENGE)
    const find = (named: string): Promise<Session> => findSession(named, request.socket)
    const { id, digest, credential, endsAt } = await limitTokenChecks(find, tokenChecks, address)(token)
    const operator = await identifyByToken(`Bearer ${credential.reveal()}`, address)
    const end = Math.min(endsAt, operator.endsAt ?? Number.POSITIVE_INFINITY)
    return { ...operator, endsAt: end, session: { id, digest, removedCookie: removedSessionCookie(request) } }
  }
}

const MOST_KNOWN = 10_000

/** The tokens that were valid when they were last checked, by their hash. The oldest are forgotten if there are too many. */
export class KnownTokens {
  readonly #digests = new Set<string>()

  has(token: string): boolean {
    return this.#digests.has(hash('sha256', token))
  }

  add(token: string): void {
    this.#digests.add(hash('sha256', token))
    const [oldest] = this.#digests
    if (this.#digests.size > MOST_KNOWN && oldest !== undefined) this.#digests.delete(oldest)
  }

  delete(token: string): void {
    this.#digests.delete(hash('sha256', token))
  }
}

/** The processor time for tokens that are not valid. */
export interface TokenChecks {
  readonly addresses: AddressLimits
  readonly known: KnownTokens
  /** Monotonic milliseconds. */
  readonly now: () => number
}

/**
 * Limits the processor time that forged tokens of one address can use. Behind a proxy, that is the address of all: known tokens
 * are always checked.
 * @throws rateLimited while none is left, and whatever the verifier throws
 */
export function limitTokenChecks<Found>(
  verify: (token: string) => Promise<Found>,
  { addresses, known, now }: TokenChecks,
  address: string,
): (token: string) => Promise<Found> {
  return async (token) => {
    const refusal = known.has(token) ? null : addresses.refusalOf(address, { isSigned: true, bytes: 0 })
    if (refusal !== null) throw refusal
    const startedAt = now()
    try {
      const found = await verify(token)
      known.add(token)
      return found
    } catch (error) {
      if (!unauthenticated.is(error)) throw error
      known.delete(token)
      addresses.charge(address, workOf(now() - startedAt, token.length))
      throw error
    }
  }
}
