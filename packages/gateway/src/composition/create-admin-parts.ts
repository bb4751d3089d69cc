import { randomBytes } from 'node:crypto'
import { monotonicMs } from '@oncehook/kernel/time/clock'
import type { Db } from 'mongodb'
import { AddressLimits } from '../http/address-limits.ts'
import { createFailedLogins, type FailedLogins } from '../http/authentication/failed-logins.ts'
import { createRateLimit, type RateLimit } from '../http/rate-limit.ts'
import { readRetention } from '../inbox/retention/retention.ts'
import { type AccessTokens, createAccessTokens } from '../operator/access/access-token.ts'
import { createIdentifyRequest } from '../operator/access/identify-request.ts'
import { createIssuerKeys } from '../operator/access/issuer-keys.ts'
import type { TokenChecks } from '../operator/access/limit-token-checks.ts'
import { type AnswerOperators, answerOperators } from '../operator/answer-operators.ts'
import type { ConsoleFiles } from '../operator/console/read-console.ts'
import type { AnswerHistory } from '../operator/health/answer-history.ts'
import { createOperatorApi } from '../operator/operator-api.ts'
import type { OperatorParts } from '../operator/operator-trpc.ts'
import { createReplays } from '../operator/replays/replays.ts'
import { createExchangeCode } from '../operator/sign-in/exchange-code.ts'
import { createIssuerMetadata } from '../operator/sign-in/issuer-metadata.ts'
import { createIssuerSignIn } from '../operator/sign-in/issuer-sign-in.ts'
import {
  createSignInAtIssuer,
  type OfferedSignIn,
  type SignInAtIssuerDeps,
} from '../operator/sign-in/sign-in-at-issuer.ts'
import type { SignInLimits } from '../operator/sign-in/sign-in-limits.ts'
import { createSignIns } from '../operator/sign-in/sign-ins.ts'
import { createTestEvents, type TestEvents, type TestInboxes } from '../operator/test-events/test-events.ts'
import type { ReceiveDeps } from '../receive/receive-webhook.ts'
import type { GatewayContext } from './gateway-context.ts'

/** Dependencies of the operator's parts besides the context. */
export interface AdminServices
  extends Pick<OperatorParts, 'keyRegister' | 'fulfilment' | 'handlers' | 'isHandlerUp' | 'tail'> {
  /** A database whose reads show what a majority holds. */
  readonly db: Db
  readonly answers: AnswerHistory
  /** The files of the operator's page. Null if it is not built. */
  readonly console: ConsoleFiles | null
  /** Receives test events. Only the test inboxes store them. */
  readonly receiving: Omit<ReceiveDeps, 'inbox'>
  readonly testInboxes: TestInboxes
  /** Called when an operator has started a replay. */
  readonly onReplayStarted: () => void
}

/** Creates the operator's parts of the private listener: the operator API, the sign-in, and the files of the page. */
export function createAdminParts(context: GatewayContext, services: AdminServices): AnswerOperators {
  const { db, keyRegister, fulfilment, tail, answers, console, onReplayStarted } = services
  const { settings, logger, clock, fetch, providers, databaseErrors, audit, encryption, shownMetrics } = context
  const signIns = createSignIns(db, clock)
  const failedLogins = createOperatorLogins(context)
  const identify = createIdentifyRequest({
    ...{ holders: settings.OPERATOR_TOKENS, accessTokens: openAccessTokens(context), clock },
    ...{ signIns, tokenChecks: createTokenChecks(context) },
  })
  const api = createOperatorApi({
    identify,
    failedLogins,
    errors: databaseErrors,
    parts: {
      ...{ db, encryption, keyRegister, audit, replays: createReplays(db, onReplayStarted), pauses: context.pauses },
      ...{ handlers: services.handlers, isHandlerUp: services.isHandlerUp },
      handlerPauses: context.handlerPauses,
      ...{ signIns, tail, answers, shownMetrics, fulfilment, testEvents: openTestEvents(context, services) },
      ...{ providers: providers.current, fetch, retention: readRetention(settings), clock, logger },
      monotonicMs: context.monotonicMs ?? monotonicMs,
    },
  })
  const signingIn: Omit<SignInAtIssuerDeps, 'atIssuer'> = {
    ...{ signIns, audit, failedLogins, logger, limits: createSignInLimits(context) },
    identify: (credential, request) => identify(`Bearer ${credential.reveal()}`, request),
  }
  const exchangeCode = createExchangeCode({ ...signingIn, signIns })
  const signInAtIssuer = createSignInAtIssuer({ ...signingIn, atIssuer: openIssuerSignIn(context) })
  return answerOperators({ api, exchangeCode, signInAtIssuer, console })
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

/** The limits of attempts to sign in, in a minute. */
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

function createOperatorLogins({ settings, limits, clock, logger, summaries, metrics }: GatewayContext): FailedLogins {
  return createFailedLogins({
    api: 'operator',
    limit: createRateLimit({
      ...{ name: 'failed', limit: settings.RATE_LIMIT_FAILED, clock },
      windowSeconds: limits.rateWindowSeconds,
    }),
    // There is no proxy in front of the private listener.
    trustedProxyHops: 0,
    ...{ logger, summaries },
    count: metrics.loginFailed,
  })
}

function createTokenChecks({ settings, limits, clock }: GatewayContext): TokenChecks {
  const { RATE_LIMIT_FAILED: failures } = settings
  const addresses = new AddressLimits({ failures, windowSeconds: limits.rateWindowSeconds, clock })
  return { addresses, now: () => performance.now() }
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
