import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as afterOthers } from 'node:timers/promises'
import { type AppError, isFailure, toAppError } from '@oncehook/kernel/http/errors'
import { writeBounded } from '@oncehook/kernel/log/bounded-lines'
import type { Logger } from '@oncehook/kernel/log/logger'
import type { DatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import { toUnavailable } from '@oncehook/kernel/mongo/write-outcome'
import { type Caller, handleRpc, type InputReading } from '@oncehook/kernel/rpc/handle-rpc'
import { Secret } from '@oncehook/kernel/secrets/secret'
import { monotonicMs } from '@oncehook/kernel/time/clock'
import type { AnyProcedure, AnyRouter } from '@trpc/server'
import type { Db } from 'mongodb'
import { AddressLimits } from '../http/address-limits.ts'
import { createFailedLogins, type FailedLogins, type Role } from '../http/authentication.ts'
import { createRateLimit, type RateLimit } from '../http/rate-limit.ts'
import { readRetention } from '../inbox/retention/retention.ts'
import { type AccessTokens, createAccessTokens } from '../operator/access/access-token.ts'
import {
  createIdentifyRequest,
  type IdentifyRequest,
  KnownTokens,
  type Operator,
  type TokenChecks,
} from '../operator/access/identify-operator.ts'
import { createIssuerKeys } from '../operator/access/issuer-keys.ts'
import { limitAudit, type OpenOperatorAudit } from '../operator/audit/audit.ts'
import { type ConsoleFiles, SIGN_IN_PATH, serveConsole } from '../operator/console/console.ts'
import type { OperatorParts } from '../operator/operator-trpc.ts'
import { createReplays } from '../operator/replays/replays.ts'
import {
  type Answer,
  createExchangeCode,
  createSignInAtIssuer,
  ISSUER_PATH,
  type OfferedSignIn,
  type SignInDeps,
  type SignInLimits,
} from '../operator/sign-in/answer-sign-in.ts'
import { createIssuerMetadata, createIssuerSignIn } from '../operator/sign-in/issuer-sign-in.ts'
import { createSignIns } from '../operator/sign-in/sign-ins.ts'
import { createTestEvents, type TestEvents, type TestInboxes } from '../operator/test-events/test-events.ts'
import { createTurnsOfEach } from '../operator/turns.ts'
import type { ReceiveDeps } from '../webhooks/receive-webhook.ts'
import type { GatewayContext } from './gateway-context.ts'
import { operatorRouter } from './operator-router.ts'
import { OPERATOR_PREFIX } from './private-listener.ts'

interface AdminServices extends Pick<OperatorParts, 'keyRegister' | 'fulfilment' | 'handlers' | 'isHandlerUp'> {
  /** A database whose reads show what a majority holds. */
  readonly db: Db
  /** The files of the operator's page. Null if it is not built. */
  readonly console: ConsoleFiles | null
  /** Receives test events. Only the test inboxes store them. */
  readonly receiving: Omit<ReceiveDeps, 'inbox'>
  readonly testInboxes: TestInboxes
  readonly onReplayStarted: () => void
}

/** What one operator may ask for at a time, and how much more may wait: a page asks for a few things at once. */
const AT_ONCE = 2
const MOST_WAITING = 30

/** Creates the operator's parts of the private listener: the operator API, the sign-in, and the files of the page. */
export function createAdminParts(context: GatewayContext, services: AdminServices): AnswerOperators {
  const { db, keyRegister, fulfilment, console, onReplayStarted } = services
  const { settings, logger, clock, fetch, providers, databaseErrors, audit, encryption } = context
  // Not with the operators' searches, which may be slow.
  const signIns = createSignIns(context.mongo.background.durableDb, clock)
  const takeTurn = createTurnsOfEach(AT_ONCE, MOST_WAITING)
  const failedLogins = createOperatorLogins(context)
  const tokenChecks = createTokenChecks(context)
  const openAudit = limitAudit(audit, createRateLimit({ name: 'audited', limit: 300, windowSeconds: 60, clock }))
  const identify = createIdentifyRequest({
    ...{ holders: settings.OPERATOR_TOKENS, accessTokens: openAccessTokens(context), clock },
    ...{ signIns, tokenChecks },
  })
  const api = createOperatorApi({
    identify,
    failedLogins,
    errors: databaseErrors,
    openAudit,
    parts: {
      ...{ db, encryption, keyRegister, replays: createReplays(db, onReplayStarted), pauses: context.pauses },
      ...{ handlers: services.handlers, isHandlerUp: services.isHandlerUp },
      handlerPauses: context.handlerPauses,
      ...{ signIns, fulfilment, testEvents: openTestEvents(context, services) },
      ...{ providers: providers.current, fetch, retention: readRetention(settings), clock, logger },
      refusedProviders: providers.problems,
      monotonicMs: context.monotonicMs ?? monotonicMs,
      takeTurn,
    },
  })
  const signIn: SignInDeps = {
    ...{ signIns, openAudit, takeTurn, failedLogins, logger, limits: createSignInLimits(context) },
    known: tokenChecks.known,
    identify: (credential, request) => identify(`Bearer ${credential.reveal()}`, request),
    atIssuer: openIssuerSignIn(context),
  }
  return answerOperators({
    ...{ api, console },
    exchangeCode: createExchangeCode(signIn),
    signInAtIssuer: createSignInAtIssuer(signIn),
  })
}

function openTestEvents({ settings, clock }: GatewayContext, services: AdminServices): TestEvents {
  return createTestEvents({
    receiving: services.receiving,
    inboxes: services.testInboxes,
    readSigning: (provider) => settings.providers.readSigning(provider, clock.now()),
    randomBytes,
    limit: createRateLimit({ name: 'test_events', limit: 30, windowSeconds: 60, clock }),
  })
}

/** The limits of attempts to sign in at the issuer, in a minute. */
function createSignInLimits({ clock }: GatewayContext): SignInLimits {
  const createLimit = (limit: number): RateLimit =>
    createRateLimit({ name: 'sign_in', limit, windowSeconds: 60, clock })
  return { ofAddress: createLimit(10), ofAll: createLimit(300) }
}

function openIssuerSignIn({ settings, fetch, clock, logger }: GatewayContext): OfferedSignIn | null {
  const { operatorIssuer: issuer } = settings
  if (issuer === null || issuer.client === null) return null
  const metadata = createIssuerMetadata({ issuer: issuer.issuer, fetch, clock, logger })
  return { issuer: issuer.issuer, ...createIssuerSignIn({ issuer, client: issuer.client, metadata, fetch }) }
}

function createOperatorLogins({ settings, limits, clock, logger, metrics }: GatewayContext): FailedLogins {
  return createFailedLogins({
    api: 'operator',
    limit: createRateLimit({
      ...{ name: 'failed', limit: settings.RATE_LIMIT_FAILED, clock },
      windowSeconds: limits.rateWindowSeconds,
    }),
    // There is no proxy in front of the private listener.
    trustedProxyHops: 0,
    logger,
    count: metrics.loginFailed,
  })
}

function createTokenChecks({ settings, limits, clock }: GatewayContext): TokenChecks {
  const { RATE_LIMIT_FAILED: failures } = settings
  const addresses = new AddressLimits({ failures, windowSeconds: limits.rateWindowSeconds, clock })
  return { addresses, known: new KnownTokens(), now: () => performance.now() }
}

/** Asks the issuer at once, so that the log soon shows whether it answers. The start does not wait for the answer. */
function openAccessTokens({ settings, fetch, clock, logger }: GatewayContext): AccessTokens | null {
  const { operatorIssuer } = settings
  if (operatorIssuer === null) return null
  const keys = createIssuerKeys({ issuer: operatorIssuer.issuer, fetch, clock, logger })
  // Failures are already logged.
  keys.reload().catch(() => undefined)
  return createAccessTokens({ issuer: operatorIssuer, keys: keys.find, clock })
}

// The context of a call that is refused before a procedure runs.
const NOBODY: Operator = {
  ...{ name: '', roles: new Set<Role>(), identity: null, endsAt: null, session: null },
  credential: new Secret(''),
}

// Clients of ours ask everything by POST, so that no input is in a URL.
const QUERIES = new Set(
  Object.entries<AnyProcedure>((operatorRouter as AnyRouter)._def.procedures)
    .filter(([, { _def }]) => _def.type === 'query')
    .map(([name]) => name),
)

// An order of 1,000 items with the longest skus fits, and so do 1,000 ids.
const MOST_BYTES = 524_288
const MOST_PARTS = 10_000
// What the two procedures take that need no role is empty.
const MOST_BYTES_WITHOUT_ROLE = 1_024
const SMALL_BYTES = 4_096
const MOST_UNREAD = 62

/** Creates the limits of reading: a few large inputs of an operator at a time, and what else the process does comes in between. */
function limitReading(): (operator: Operator, request: IncomingMessage) => InputReading {
  const takeTurn = createTurnsOfEach(AT_ONCE, MOST_UNREAD)
  return ({ name, roles }, { headers }) => {
    const isLarge = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > SMALL_BYTES
    return {
      maxBytes: roles.size === 0 ? MOST_BYTES_WITHOUT_ROLE : MOST_BYTES,
      maxParts: MOST_PARTS,
      inTurn: (read) => (isLarge ? takeTurn(name, () => afterOthers().then(read)) : read()),
    }
  }
}

/** Creates the operator API. Each call needs an operator's token, and its log line names its subject. */
function createOperatorApi(deps: {
  identify: IdentifyRequest
  failedLogins: FailedLogins
  errors: Pick<DatabaseErrors, 'count'>
  openAudit: OpenOperatorAudit
  parts: OperatorParts
}): Answer {
  const { identify, failedLogins, errors, openAudit, parts } = deps
  const readingOf = limitReading()
  const authenticate = async (request: IncomingMessage): Promise<Operator & Caller> => {
    try {
      const operator = await identify(request.headers.authorization, request)
      return { ...operator, reading: readingOf(operator, request) }
    } catch (error) {
      const known = toUnavailable(error) ?? toAppError(error)
      // Nobody failed to sign in if the database or the issuer did not answer.
      throw known.status >= 500 ? known : failedLogins.refuse(request, known)
    }
  }
  return async (request, response) => {
    const startedAt = performance.now()
    const requestId = String(response.getHeader('X-Request-Id'))
    const report = await handleRpc(
      {
        prefix: OPERATOR_PREFIX,
        router: operatorRouter,
        authenticate,
        queriesByPost: QUERIES,
        createContext: ({ method }, caller) => ({
          ...{ ...parts, operator: caller?.name ?? '', requestId, call: {}, isInUrl: method !== 'POST' },
          roles: caller?.roles ?? new Set<Role>(),
          caller: caller ?? NOBODY,
          audit: openAudit(caller ?? NOBODY),
        }),
        headersOf: ({ call }) => call.headers ?? {},
      },
      request,
      response,
    )
    const { procedure, status, caller, context, error } = report
    errors.count(error)
    if (failedLogins.isSummarised(error)) return
    const { about } = context.call
    const { identity, roles } = context.caller
    const ms = Math.round(performance.now() - startedAt)
    const shown = identity === null ? {} : { issuer: identity.issuer, operatorName: identity.name }
    const line = { ...about, requestId, procedure, status, operator: caller, ...shown, ms }
    logCalled(parts.logger, line, { roles, error })
  }
}

/** The line of a call. `operator` is undefined if nobody was recognised. */
interface CalledLine {
  readonly procedure: string
  readonly status: number
  readonly operator: string | undefined
}

/**
 * Logs a call. Anybody can call while the issuer is away, and without a role whoever the issuer gives a token: most of such
 * calls are counted.
 */
export function logCalled(
  logger: Logger,
  line: CalledLine,
  { roles, error }: { readonly roles: ReadonlySet<Role>; readonly error: AppError | undefined },
): void {
  const { procedure, status } = line
  const shown = isFailure(status)
    ? { ...line, error }
    : { ...error?.details, ...line, ...(error && { code: error.code }) }
  const write = (written: object): void => {
    if (isFailure(status)) logger.error(written, 'operator.called')
    else logger.info(written, 'operator.called')
  }
  if (roles.size > 0) write(shown)
  else writeBounded(logger, 'operator.called', { procedure, status }, { one: () => write(shown), many: write })
}

/** What operators use on the private listener. */
interface OperatorAnswers {
  readonly api: Answer
  readonly exchangeCode: Answer
  readonly signInAtIssuer: Answer
  /** The files of the operator's page. Null if it is not built. */
  readonly console: ConsoleFiles | null
}

/** Answers a request of an operator. Resolves to false, without an answer, if the path is none of theirs. */
export type AnswerOperators = (request: IncomingMessage, response: ServerResponse) => Promise<boolean>

/** Leads each request to the operator API, to the sign-in, or to the operator's page. */
export function answerOperators(parts: OperatorAnswers): AnswerOperators {
  return async (request, response) => {
    const answer = findPart(parts, request)
    if (answer === null) return parts.console !== null && serveConsole(parts.console, request, response)
    await answer(request, response)
    return true
  }
}

/** The part that a request is for. Null: it may be for the page. */
function findPart(parts: OperatorAnswers, { url = '', method }: IncomingMessage): Answer | null {
  const path = url.split('?', 1)[0] ?? ''
  if (path.startsWith(OPERATOR_PREFIX)) return parts.api
  if (path === SIGN_IN_PATH && method === 'POST') return parts.exchangeCode
  return path === ISSUER_PATH || path.startsWith(`${ISSUER_PATH}/`) ? parts.signInAtIssuer : null
}
