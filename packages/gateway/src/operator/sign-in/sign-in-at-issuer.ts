import type { IncomingMessage, ServerResponse } from 'node:http'
import { invalidRequest, methodNotAllowed, notFound, unauthenticated } from '@oncehook/kernel/http/error-codes'
import { AppError } from '@oncehook/kernel/http/errors'
import { readRawBody } from '@oncehook/kernel/http/server/raw-body'
import { parseStrictJson } from '@oncehook/kernel/http/strict-json'
import type { Secret } from '@oncehook/kernel/secrets/secret'
import { z } from 'zod'
import { signInMisconfigured } from '../../errors.ts'
import { clientAddress } from '../../http/client-address.ts'
import type { Operator } from '../access/identify-operator.ts'
import { SIGN_IN_PATH } from '../console/serve-console.ts'
import { answerSignIn, refuseForeignRequest, type SignInAnswering } from './answer-sign-in.ts'
import type { IssuerSignIn } from './issuer-sign-in.ts'
import { type OpenSessionDeps, openSession } from './open-session.ts'
import { limitSignIn, refuseOverLimit, type SignInLimits } from './sign-in-limits.ts'

/** Dependencies of the sign-in at the issuer. */
export interface SignInAtIssuerDeps extends SignInAnswering, OpenSessionDeps {
  /** Null if the gateway is no client of an issuer. */
  readonly atIssuer: OfferedSignIn | null
  /**
   * Who holds a token now.
   * @throws unauthenticated if the token is not valid
   */
  readonly identify: (credential: Secret, request: IncomingMessage) => Promise<Operator>
  /** Shared with the exchange of codes. */
  readonly limits: SignInLimits
}

/** The issuer that operators can sign in at, and how. */
export interface OfferedSignIn extends IssuerSignIn {
  readonly issuer: string
}

/** Answers the paths of the sign-in at the issuer. The response already has its `X-Request-Id`. */
export type SignInAtIssuer = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** The path that says which issuer operators can sign in at. The paths below it begin and finish the sign-in. */
export const ISSUER_PATH = `${SIGN_IN_PATH}/issuer`

const MAX_BYTES = 16_384
const random = z.string().regex(/^[\w.~-]{43,128}$/)
const beginSchema = z.strictObject({})
const finishSchema = z.strictObject({
  answer: z.string().max(8_192),
  kept: z.strictObject({ state: random, nonce: random, verifier: random }),
})

interface Action {
  readonly method: 'GET' | 'POST'
  readonly act: (deps: SignInAtIssuerDeps, request: IncomingMessage) => Promise<object>
}

const ACTIONS: ReadonlyMap<string, Action> = new Map<string, Action>([
  [ISSUER_PATH, { method: 'GET', act: async ({ atIssuer }) => ({ issuer: atIssuer?.issuer ?? null }) }],
  [`${ISSUER_PATH}/begin`, { method: 'POST', act: begin }],
  [`${ISSUER_PATH}/finish`, { method: 'POST', act: finish }],
])

/**
 * Creates the sign-in at the issuer: which issuer it is, the address of a sign-in there, and the exchange of its answer
 * for the token of a session. The token of the issuer stays in the gateway.
 */
export function createSignInAtIssuer(deps: SignInAtIssuerDeps): SignInAtIssuer {
  return async (request, response) => {
    const path = request.url?.split('?', 1)[0] ?? ''
    const action = ACTIONS.get(path)
    const route = action === undefined ? ISSUER_PATH : path
    await answerSignIn(deps, { request, response, route }, async () => {
      if (action === undefined) throw notFound()
      if (request.method !== action.method) throw methodNotAllowed({}, { headers: { Allow: action.method } })
      return await action.act(deps, request)
    })
  }
}

async function begin({ atIssuer, limits }: SignInAtIssuerDeps, request: IncomingMessage): Promise<object> {
  refuseForeignRequest(request)
  if (atIssuer === null) throw notFound()
  refuseOverLimit({ limits, address: clientAddress(request, 0) })
  const body = beginSchema.safeParse(parseStrictJson(await readRawBody(request, MAX_BYTES)))
  if (!body.success) throw invalidRequest({}, { message: 'The body must be an empty object' })
  return await atIssuer.begin(redirectUriOf(request))
}

async function finish(deps: SignInAtIssuerDeps, request: IncomingMessage): Promise<object> {
  refuseForeignRequest(request)
  const { atIssuer, limits, failedLogins } = deps
  if (atIssuer === null) throw notFound()
  const body = finishSchema.safeParse(parseStrictJson(await readRawBody(request, MAX_BYTES)))
  if (!body.success) throw invalidRequest({}, { message: 'The body must be an object with answer and kept' })
  const returned = { ...body.data, redirectUri: redirectUriOf(request) }
  const address = clientAddress(request, 0) // There is no proxy in front of the private listener.
  try {
    return await limitSignIn({ limits, address }, async () => {
      const credential = await atIssuer.finish(returned)
      return await openSession(deps, await deps.identify(credential, request), credential)
    })
  } catch (error) {
    const refusal = toRefusal(error)
    throw refusal instanceof AppError && refusal.status === 401 ? failedLogins.refuse(request, refusal) : refusal
  }
}

/** A token of the issuer that the operator API does not accept is a mistake in the settings, and not of the operator. */
function toRefusal(error: unknown): unknown {
  if (!unauthenticated.is(error)) return error
  const { claim } = error.details
  const which = typeof claim === 'string' ? `its claim ${claim} is not as the settings require` : 'it is no valid JWT'
  const message = `The issuer signed you in, but the gateway does not accept its access token: ${which}`
  return signInMisconfigured({ ...error.details, reason: 'token_refused' }, { message })
}

/**
 * Where the issuer sends the window back to: the page, at the address that the operator uses for it. The issuer compares
 * it with those that are registered there, so another address gets no code.
 */
function redirectUriOf({ headers: { origin } }: IncomingMessage): string {
  if (origin === undefined) throw invalidRequest({}, { message: 'The request needs the header Origin' })
  return `${origin}${SIGN_IN_PATH}`
}
