import type { IncomingMessage, ServerResponse } from 'node:http'
import { invalidRequest } from '@oncehook/kernel/http/error-codes'
import { AppError } from '@oncehook/kernel/http/errors'
import { readRawBody } from '@oncehook/kernel/http/server/raw-body'
import { parseStrictJson } from '@oncehook/kernel/http/strict-json'
import type { Secret } from '@oncehook/kernel/secrets/secret'
import { z } from 'zod'
import { signInCodeInvalid } from '../../errors.ts'
import { CHALLENGE } from '../../http/authentication/bearer-token.ts'
import { clientAddress } from '../../http/client-address.ts'
import type { Operator } from '../access/identify-operator.ts'
import { SIGN_IN_PATH } from '../console/serve-console.ts'
import { answerSignIn, refuseForeignRequest, type SignInAnswering } from './answer-sign-in.ts'
import { type OpenedSession, type OpenSessionDeps, openSession } from './open-session.ts'
import { limitSignIn, type SignInLimits } from './sign-in-limits.ts'
import type { SignIns } from './sign-ins.ts'

/** Dependencies of the exchange of codes for sessions. */
export interface ExchangeDeps extends SignInAnswering, OpenSessionDeps {
  readonly signIns: Pick<SignIns, 'useCode' | 'createSession'>
  /**
   * Returns the current operator of a token.
   * @throws unauthenticated if the token is no longer valid
   */
  readonly identify: (credential: Secret, request: IncomingMessage) => Promise<Operator>
  /** Shared with the sign-in at the issuer. */
  readonly limits: SignInLimits
}

/** Answers `POST /sign-in`. The response already has its `X-Request-Id`. */
export type ExchangeCode = (request: IncomingMessage, response: ServerResponse) => Promise<void>

const MAX_BYTES = 4_096
const bodySchema = z.strictObject({ code: z.string().max(256) })

/**
 * Creates the exchange of a code for the token of a session. A code that is wrong, used or expired, or whose operator may
 * no longer call, gets the same answer.
 */
export function createExchangeCode(deps: ExchangeDeps): ExchangeCode {
  return (request, response) =>
    answerSignIn(deps, { request, response, route: SIGN_IN_PATH }, () => exchange(deps, request))
}

async function exchange(deps: ExchangeDeps, request: IncomingMessage): Promise<OpenedSession> {
  refuseForeignRequest(request)
  const body = bodySchema.safeParse(parseStrictJson(await readRawBody(request, MAX_BYTES)))
  if (!body.success) throw invalidRequest({}, { message: 'The body must be an object with the code and nothing else' })
  const { code } = body.data
  const address = clientAddress(request, 0) // There is no proxy in front of the private listener.
  return await limitSignIn({ limits: deps.limits, address }, async () => {
    const { credential, operator } = await redeem(deps, { code, request })
    return await openSession(deps, operator, credential)
  })
}

interface Attempt {
  readonly code: string
  readonly request: IncomingMessage
}

async function redeem(deps: ExchangeDeps, { code, request }: Attempt) {
  const refuse = (reason: string): AppError =>
    deps.failedLogins.refuse(request, signInCodeInvalid({ reason }, CHALLENGE))
  const credential = await deps.signIns.useCode(code)
  if (credential === null) throw refuse('code_unknown')
  const operator = await deps.identify(credential, request).catch((error: unknown) => {
    throw error instanceof AppError && error.status === 401 ? refuse('code_of_nobody') : error
  })
  return { credential, operator }
}
