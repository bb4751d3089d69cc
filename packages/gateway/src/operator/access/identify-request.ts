import type { IncomingMessage } from 'node:http'
import { unauthenticated } from '@oncehook/kernel/http/error-codes'
import { CHALLENGE } from '../../http/authentication/bearer-token.ts'
import { clientAddress } from '../../http/client-address.ts'
import type { Session, SignIns } from '../sign-in/sign-ins.ts'
import { identifyOperator, type Operator, type OperatorTokens } from './identify-operator.ts'
import { limitTokenChecks, type TokenChecks } from './limit-token-checks.ts'

/** The tokens that are accepted, and the limit on the cost of checks. */
export interface IdentifyDeps extends Omit<OperatorTokens, 'sessions'> {
  readonly signIns: Pick<SignIns, 'findSession'>
  /** The processor time for tokens that are not valid. */
  readonly tokenChecks: TokenChecks
}

/**
 * Identifies the operator of an `Authorization` header, which need not be the header of the request.
 * @throws unauthenticated, or the other errors of `identifyOperator` and `limitTokenChecks`
 */
export type IdentifyRequest = (authorization: string | undefined, request: IncomingMessage) => Promise<Operator>

/** Creates the identification. Checks that cost something are limited by the address of the request. */
export function createIdentifyRequest(deps: IdentifyDeps): IdentifyRequest {
  const { signIns, tokenChecks, accessTokens: verify, ...tokens } = deps
  const findSession = async (token: string): Promise<Session> => {
    const session = await signIns.findSession(token)
    if (session === null) throw unauthenticated({ reason: 'session_unknown' }, CHALLENGE)
    return session
  }
  return (authorization, request) => {
    const address = clientAddress(request, 0) // There is no proxy in front of the private listener.
    return identifyOperator(authorization, {
      ...tokens,
      accessTokens: verify === null ? null : limitTokenChecks(verify, tokenChecks, address),
      sessions: limitTokenChecks(findSession, tokenChecks, address),
    })
  }
}
