import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  invalidRequest,
  methodNotAllowed,
  notFound,
  unauthenticated,
  unsupportedMediaType,
} from '@oncehook/kernel/http/error-codes'
import { AppError, toAppError } from '@oncehook/kernel/http/errors'
import { readRawBody, refuseEncodedBody } from '@oncehook/kernel/http/server/raw-body'
import { logRefused, sendError } from '@oncehook/kernel/http/server/send-error'
import { parseStrictJson } from '@oncehook/kernel/http/strict-json'
import type { Logger } from '@oncehook/kernel/log/logger'
import { toUnavailable } from '@oncehook/kernel/mongo/write-outcome'
import type { Secret } from '@oncehook/kernel/secrets/secret'
import { z } from 'zod'
import { crossSite, signInCodeInvalid, signInMisconfigured } from '../../errors.ts'
import { CHALLENGE, type FailedLogins } from '../../http/authentication.ts'
import { clientAddress } from '../../http/client-address.ts'
import type { RateLimit } from '../../http/rate-limit.ts'
import type { Operator } from '../access/identify-operator.ts'
import type { OpenOperatorAudit } from '../audit/audit.ts'
import { SIGN_IN_PATH } from '../console/console.ts'
import { demandRole } from '../operator-trpc.ts'
import type { IssuerSignIn } from './issuer-sign-in.ts'
import type { SignIns } from './sign-ins.ts'

/** What signing in needs, with a code or at the issuer. */
export interface SignInDeps {
  readonly signIns: Pick<SignIns, 'useCode' | 'createSession'>
  readonly openAudit: OpenOperatorAudit
  readonly failedLogins: Pick<FailedLogins, 'refuse' | 'isSummarised'>
  readonly logger: Logger
  /**
   * Who holds a token now.
   * @throws unauthenticated if the token is not valid
   */
  readonly identify: (credential: Secret, request: IncomingMessage) => Promise<Operator>
  readonly limits: SignInLimits
  /** Null if the gateway is no client of an issuer. */
  readonly atIssuer: OfferedSignIn | null
}

/** Answers a request of an operator. The response already has its `X-Request-Id`. */
export type Answer = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** Answers with the result as JSON, or with the error as a problem, which the log gets too. */
async function answerSignIn(
  { failedLogins, logger }: SignInDeps,
  { request, response, route }: { request: IncomingMessage; response: ServerResponse; route: string },
  act: () => Promise<object>,
): Promise<void> {
  const requestId = String(response.getHeader('X-Request-Id'))
  try {
    const answer = Buffer.from(JSON.stringify(await act()))
    response.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': answer.length })
    response.end(answer)
  } catch (thrown) {
    const error = toAppError(toUnavailable(thrown) ?? thrown)
    if (!failedLogins.isSummarised(error)) logRefused(logger, { requestId, error, method: request.method, route })
    await sendError(response, error, { requestId, asProblem: true })
  }
}

const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset="?utf-8"?[ \t]*)?$/i

/**
 * Refuses what no page of the gateway sends.
 * @throws crossSite, unsupportedMediaType
 */
function refuseForeignRequest(request: IncomingMessage): void {
  refuseCrossSite(request)
  if (!JSON_TYPE.test(request.headers['content-type'] ?? '')) {
    throw unsupportedMediaType({}, { headers: { Accept: 'application/json' } })
  }
  refuseEncodedBody(request)
}

/**
 * A page of another site must not sign its visitor in. Browsers say where a request comes from; other programs say
 * nothing, and have no visitor.
 */
function refuseCrossSite({ headers }: IncomingMessage): void {
  const site = headers['sec-fetch-site'] ?? 'same-origin'
  const { origin, host = '' } = headers
  const isOwn = origin === undefined || origin === `http://${host}` || origin === `https://${host}`
  if (site !== 'same-origin' || !isOwn) throw crossSite()
}

const MAX_CODE_BYTES = 4_096
const bodySchema = z.strictObject({ code: z.string().max(256) })

/**
 * Creates the exchange of a code for the token of a session. A code that is wrong, used or expired, or whose operator may
 * no longer call, gets the same answer.
 */
export function createExchangeCode(deps: SignInDeps): Answer {
  return (request, response) =>
    answerSignIn(deps, { request, response, route: SIGN_IN_PATH }, () => exchange(deps, request))
}

async function exchange(deps: SignInDeps, request: IncomingMessage) {
  refuseForeignRequest(request)
  const body = bodySchema.safeParse(parseStrictJson(await readRawBody(request, MAX_CODE_BYTES)))
  if (!body.success) throw invalidRequest({}, { message: 'The body must be an object with the code and nothing else' })
  const { credential, operator } = await redeem(deps, { code: body.data.code, request })
  return await openSession(deps, operator, credential)
}

/** Only failures count, and a correct code is never refused for those of others: it has 256 bits, so nobody guesses one. */
async function redeem(
  deps: SignInDeps,
  { code, request }: { readonly code: string; readonly request: IncomingMessage },
) {
  const refuse = (reason: string): AppError =>
    deps.failedLogins.refuse(request, signInCodeInvalid({ reason }, CHALLENGE))
  const credential = await deps.signIns.useCode(code)
  if (credential === null) throw refuse('code_unknown')
  const operator = await deps.identify(credential, request).catch((error: unknown) => {
    throw error instanceof AppError && error.status === 401 ? refuse('code_of_nobody') : error
  })
  return { credential, operator }
}

export interface OfferedSignIn extends IssuerSignIn {
  readonly issuer: string
}

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
  readonly act: (deps: SignInDeps, request: IncomingMessage) => Promise<object>
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
export function createSignInAtIssuer(deps: SignInDeps): Answer {
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

async function begin({ atIssuer, limits }: SignInDeps, request: IncomingMessage): Promise<object> {
  refuseForeignRequest(request)
  if (atIssuer === null) throw notFound()
  refuseOverLimit(limits, clientAddress(request, 0))
  const body = beginSchema.safeParse(parseStrictJson(await readRawBody(request, MAX_BYTES)))
  if (!body.success) throw invalidRequest({}, { message: 'The body must be an empty object' })
  return await atIssuer.begin(redirectUriOf(request))
}

async function finish(deps: SignInDeps, request: IncomingMessage): Promise<object> {
  refuseForeignRequest(request)
  const { atIssuer, limits, failedLogins } = deps
  if (atIssuer === null) throw notFound()
  const body = finishSchema.safeParse(parseStrictJson(await readRawBody(request, MAX_BYTES)))
  if (!body.success) throw invalidRequest({}, { message: 'The body must be an object with answer and kept' })
  const returned = { ...body.data, redirectUri: redirectUriOf(request) }
  const address = clientAddress(request, 0) // There is no proxy in front of the private listener.
  try {
    return await limitSignIn(limits, address, async () => {
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

/**
 * Opens a session with the token of an operator. The audit log has an entry before the session exists.
 * @throws roleMissing for a token without any role, which opens nothing and writes nothing
 */
export async function openSession(
  { signIns, openAudit }: { signIns: Pick<SignIns, 'createSession'>; openAudit: OpenOperatorAudit },
  operator: Operator,
  credential: Secret,
) {
  demandRole(operator, 'read')
  const entry = { by: operator.name, action: 'sign_in.opened', reason: null, details: {} } as const
  await openAudit(operator).record(entry)
  const session = await signIns.createSession(credential, operator.endsAt)
  return {
    token: session.text.reveal(),
    operator: operator.name,
    roles: [...operator.roles],
    expiresAt: new Date(session.endsAt).toISOString(),
  }
}

/** The limits of attempts to sign in at the issuer: of an address, and of all together. */
export interface SignInLimits {
  readonly ofAddress: RateLimit
  readonly ofAll: RateLimit
}

const EVERYBODY = 'all'

/**
 * Makes an attempt to sign in at the issuer, which is asked about each. An attempt counts from its start, so that never more
 * than the limit are in progress. One that succeeds stops counting.
 * @throws rateLimited if its address, or all together, have no attempt left, and whatever the attempt throws
 */
export async function limitSignIn<Opened>(
  limits: SignInLimits,
  address: string,
  attempt: () => Promise<Opened>,
): Promise<Opened> {
  refuseOverLimit(limits, address)
  const count = (amount: number): void => {
    limits.ofAddress.count(address, amount)
    limits.ofAll.count(EVERYBODY, amount)
  }
  count(1)
  const opened = await attempt()
  count(-1)
  return opened
}

/**
 * Refuses a request if an attempt after it would be over the limit.
 * @throws rateLimited
 */
export function refuseOverLimit({ ofAddress, ofAll }: SignInLimits, address: string): void {
  for (const [limit, key] of [[ofAddress, address] as const, [ofAll, EVERYBODY] as const]) {
    const allowance = limit.peek(key)
    if (allowance.remaining <= 0) throw limit.refusal(allowance)
  }
}
