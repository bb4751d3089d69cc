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
import { Secret } from '@oncehook/kernel/secrets/secret'
import { z } from 'zod'
import { signInCodeInvalid, signInMisconfigured } from '../../errors.ts'
import { CHALLENGE, type FailedLogins } from '../../http/authentication.ts'
import { clientAddress } from '../../http/client-address.ts'
import type { RateLimit } from '../../http/rate-limit.ts'
import type { KnownTokens, Operator } from '../access/identify-operator.ts'
import type { OpenOperatorAudit } from '../audit/audit.ts'
import { SIGN_IN_PATH } from '../console/console.ts'
import { demandRole } from '../operator-trpc.ts'
import type { TakeTurn } from '../turns.ts'
import type { IssuerSignIn } from './issuer-sign-in.ts'
import { refuseCrossSite, sessionCookies } from './session-cookie.ts'
import type { SignIns } from './sign-ins.ts'

/** What signing in needs, with a code, with a token or at the issuer. */
export interface SignInDeps {
  readonly signIns: Pick<SignIns, 'readCode' | 'useCode' | 'createSession'>
  readonly openAudit: OpenOperatorAudit
  /** Runs the sign-ins of an operator, a few at a time. */
  readonly takeTurn: TakeTurn
  readonly failedLogins: Pick<FailedLogins, 'refuse' | 'isSummarised'>
  readonly known: Pick<KnownTokens, 'add'>
  readonly logger: Logger
  /** @throws unauthenticated if the token is not valid */
  readonly identify: (credential: Secret, request: IncomingMessage) => Promise<Operator>
  readonly limits: SignInLimits
  /** Null if the gateway is no client of an issuer. */
  readonly atIssuer: OfferedSignIn | null
}

interface HttpExchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** Answers a request of an operator. The response already has its `X-Request-Id`. */
export type Answer = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** Answers with the result as JSON, or with the error as a problem, which the log gets too. */
async function answerSignIn(
  { failedLogins, logger }: SignInDeps,
  { request, response, route }: HttpExchange & { readonly route: string },
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

const MAX_BYTES = 16_384
// Anybody can send one.
const MAX_PARTS = 100

async function readJson(request: IncomingMessage): Promise<unknown> {
  return parseStrictJson(await readRawBody(request, MAX_BYTES), { maxParts: MAX_PARTS })
}

const code = z.string().max(256)
const bodySchema = z.union([
  z.strictObject({ code }),
  z.strictObject({ code, check: z.literal(true) }),
  z.strictObject({ token: z.string() }),
])

/**
 * Creates the exchange of a code or of an operator's token for a session. A code that is wrong, used or expired, or whose
 * operator may no longer call, gets the same answer. With `check`, the answer only says who a code is for, and it can still be
 * used: a page asks before it replaces somebody's session.
 */
export function createExchangeCode(deps: SignInDeps): Answer {
  return (request, response) =>
    answerSignIn(deps, { request, response, route: SIGN_IN_PATH }, () => exchange(deps, { request, response }))
}

async function exchange(deps: SignInDeps, { request, response }: HttpExchange) {
  refuseForeignRequest(request)
  const body = bodySchema.safeParse(await readJson(request))
  if (!body.success) throw invalidRequest({}, { message: 'The body must be an object with a code or a token' })
  const signedIn = await redeem(deps, { given: body.data, request })
  if ('check' in body.data) return { operator: signedIn.operator.name }
  return await openSession(deps, signedIn, { request, response })
}

type Given = z.output<typeof bodySchema>

async function credentialOf(
  { signIns }: SignInDeps,
  given: Given,
  { socket }: IncomingMessage,
): Promise<Secret | null> {
  if ('token' in given) return new Secret(given.token)
  return await ('check' in given ? signIns.readCode(given.code, socket) : signIns.useCode(given.code, socket))
}

/** Only failures count, and a correct code is never refused for those of others: it has 256 bits, so nobody guesses one. */
async function redeem(
  deps: SignInDeps,
  { given, request }: { readonly given: Given; readonly request: IncomingMessage },
): Promise<SignedIn> {
  const refuse = (error: AppError): AppError => deps.failedLogins.refuse(request, error)
  const refuseCode = (reason: string): AppError => refuse(signInCodeInvalid({ reason }, CHALLENGE))
  const credential = await credentialOf(deps, given, request)
  if (credential === null) throw refuseCode('code_unknown')
  const operator = await deps.identify(credential, request).catch((error: unknown) => {
    if (!(error instanceof AppError) || error.status !== 401) throw error
    throw 'token' in given ? refuse(error) : refuseCode('code_of_nobody')
  })
  return { credential, operator }
}

export interface OfferedSignIn extends IssuerSignIn {
  readonly issuer: string
}

/** The path that says which issuer operators can sign in at. The paths below it begin and finish the sign-in. */
export const ISSUER_PATH = `${SIGN_IN_PATH}/issuer`

const random = z.string().regex(/^[\w.~-]{43,128}$/)
const beginSchema = z.strictObject({})
const finishSchema = z.strictObject({
  answer: z.string().max(8_192),
  kept: z.strictObject({ state: random, nonce: random, verifier: random }),
})

interface Action {
  readonly method: 'GET' | 'POST'
  readonly act: (deps: SignInDeps, exchange: HttpExchange) => Promise<object>
}

const ACTIONS: ReadonlyMap<string, Action> = new Map<string, Action>([
  [ISSUER_PATH, { method: 'GET', act: async ({ atIssuer }) => ({ issuer: atIssuer?.issuer ?? null }) }],
  [`${ISSUER_PATH}/begin`, { method: 'POST', act: begin }],
  [`${ISSUER_PATH}/finish`, { method: 'POST', act: finish }],
])

/**
 * Creates the sign-in at the issuer: which issuer it is, the address of a sign-in there, and the exchange of its answer
 * for a session. The token of the issuer stays in the gateway.
 */
export function createSignInAtIssuer(deps: SignInDeps): Answer {
  return async (request, response) => {
    const path = request.url?.split('?', 1)[0] ?? ''
    const action = ACTIONS.get(path)
    const route = action === undefined ? ISSUER_PATH : path
    await answerSignIn(deps, { request, response, route }, async () => {
      if (action === undefined) throw notFound()
      if (request.method !== action.method) throw methodNotAllowed({}, { headers: { Allow: action.method } })
      return await action.act(deps, { request, response })
    })
  }
}

async function begin({ atIssuer, limits }: SignInDeps, { request }: HttpExchange): Promise<object> {
  refuseForeignRequest(request)
  if (atIssuer === null) throw notFound()
  refuseOverLimit(limits, clientAddress(request, 0))
  const body = beginSchema.safeParse(await readJson(request))
  if (!body.success) throw invalidRequest({}, { message: 'The body must be an empty object' })
  return await atIssuer.begin(redirectUriOf(request))
}

async function finish(deps: SignInDeps, { request, response }: HttpExchange): Promise<object> {
  refuseForeignRequest(request)
  const { atIssuer, limits, failedLogins } = deps
  if (atIssuer === null) throw notFound()
  const body = finishSchema.safeParse(await readJson(request))
  if (!body.success) throw invalidRequest({}, { message: 'The body must be an object with answer and kept' })
  const returned = { ...body.data, redirectUri: redirectUriOf(request) }
  const address = clientAddress(request, 0) // There is no proxy in front of the private listener.
  try {
    const exchangeCode = await atIssuer.finish(returned)
    return await limitSignIn(limits, address, async () => {
      const credential = await exchangeCode()
      const operator = await deps.identify(credential, request)
      return await openSession(deps, { credential, operator }, { request, response })
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

interface SignedIn {
  readonly credential: Secret
  readonly operator: Operator
}

/**
 * Opens a session with the token of an operator. The audit log has an entry before the session exists. Its token is in the
 * cookie only, so that no script can read it.
 * @throws roleMissing for a token without any role, which opens nothing and writes nothing; overloaded if too many sign-ins of
 * the operator wait already
 */
export async function openSession(
  {
    signIns,
    openAudit,
    takeTurn,
    known,
  }: Pick<SignInDeps, 'openAudit' | 'takeTurn' | 'known'> & { readonly signIns: Pick<SignIns, 'createSession'> },
  { credential, operator }: SignedIn,
  { request, response }: HttpExchange,
) {
  demandRole(operator, 'read')
  const entry = { by: operator.name, action: 'sign_in.opened', reason: null, details: {} } as const
  const session = await takeTurn(`sign-in ${operator.name}`, async () => {
    await openAudit(operator).record(entry)
    return await signIns.createSession(credential, operator)
  })
  known.add(session.text.reveal())
  response.setHeader('Set-Cookie', sessionCookies(request, session.text.reveal()))
  return {
    operator: operator.name,
    roles: [...operator.roles],
    expiresAt: new Date(session.endsAt).toISOString(),
  }
}

/** The limits of attempts to sign in that the issuer is asked about: of an address, and of all together. */
export interface SignInLimits {
  readonly ofAddress: RateLimit
  readonly ofAll: RateLimit
}

const EVERYBODY = 'all'

/**
 * Makes an attempt to sign in that asks the issuer. It counts from its start, so that never more than the limit are in
 * progress. One that succeeds stops counting.
 * @throws rateLimited if its address has no attempt left, and whatever the attempt throws
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
 * Refuses a request if an attempt after it would be over the limit. That of all is only for addresses that have failed: others
 * cannot use up the first attempt of an address.
 * @throws rateLimited
 */
export function refuseOverLimit({ ofAddress, ofAll }: SignInLimits, address: string): void {
  const own = ofAddress.peek(address)
  if (own.remaining <= 0) throw ofAddress.refusal(own)
  const all = ofAll.peek(EVERYBODY)
  if (all.remaining <= 0 && own.remaining < ofAddress.limit) throw ofAll.refusal(all)
}
