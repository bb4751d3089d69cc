import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { setImmediate as endOfTurn } from 'node:timers/promises'
import { payloadTooLarge } from '@oncehook/kernel/error-codes'
import { type AppError, toAppError } from '@oncehook/kernel/errors'
import { readRawBody, refuseEncodedBody, refuseLargeBody } from '@oncehook/kernel/http/raw-body'
import { releaseBuffer } from '@oncehook/kernel/http/release-buffer'
import type { Logger } from '@oncehook/kernel/logger'
import {
  type Asker,
  CERTIFICATE_ASKED_IN_VAIN,
  overloaded,
  type Provider,
  UNSIGNED,
} from '@oncehook/webhooks/providers'
import { notChecked, signatureInvalid } from '../../errors.ts'
import type { DeliveryMetrics } from '../../metrics.ts'
import type { Providers } from '../../providers/read-providers.ts'
import { type Accepted, type ReceiveDeps, receiveWebhook, TRANSMISSION_REUSED } from '../../receive/receive-webhook.ts'
import { clientAddress } from '../client-address.ts'
import type { Allowance, RateLimit } from '../rate-limit.ts'
import { commonHeaders, endOf, type RequestIds, requestIdsOf } from '../request-context.ts'
import { writeError } from '../write-error.ts'
import type { BodyBudget, BodyShare } from './body-budget.ts'
import { type CheckBudget, workOf } from './check-budget.ts'
import type { CheckTurns } from './check-turns.ts'
import type { KnownAddresses } from './known-addresses.ts'
import type { LastAnswers } from './last-answers.ts'
import type { RefusalSummary } from './refusal-summary.ts'
import type { Strangers } from './strangers.ts'

/** The dependencies of the route. */
export interface WebhookRouteDeps extends ReceiveDeps {
  readonly providers: () => Providers
  readonly logger: Logger
  readonly metrics: DeliveryMetrics
  readonly limits: DeliveryLimits
  readonly trustedProxyHops: number
  readonly budget: BodyBudget
  /** The addresses that have delivered something new and authentic. */
  readonly known: Pick<KnownAddresses, 'add' | 'has'>
  /** The processor time for deliveries that are not authentic. */
  readonly checks: Pick<CheckBudget, 'refusalOf' | 'charge'>
  readonly turns: Pick<CheckTurns, 'next' | 'rest' | 'enter' | 'leave'>
  readonly strangers: Pick<Strangers, 'ask'>
  readonly summary: Pick<RefusalSummary, 'add' | 'takeLine' | 'takeAlarm'>
  readonly lastAnswers: Pick<LastAnswers, 'outcomeOf'>
  /** The total time that a delivery may wait, in milliseconds. */
  readonly withinMs: number
}

/** The limits of deliveries. */
interface DeliveryLimits {
  /** Rejected deliveries per address. */
  readonly failed: RateLimit
  /** Bodies per provider that were read in vain although their address was over its limit. */
  readonly searched: RateLimit
  /** Authentic deliveries per provider. */
  readonly provider: RateLimit
}

const PATH = '/api/webhooks/'
const CONTENT_TYPE = 'application/json; charset=utf-8'
const RECEIVED = '{"received":true}'

/**
 * Answers `POST /api/webhooks/<provider>` in front of the application, and passes everything else to it. The layers of Koa
 * would take a fifth more time, and deliveries do not need them.
 */
export function answerDeliveriesFirst(deps: WebhookRouteDeps, application: RequestListener): RequestListener {
  return (request, response) => {
    const name = request.method === 'POST' ? providerNameOf(request) : null
    const provider = name === null ? undefined : deps.providers().get(name)
    if (provider === undefined) application(request, response)
    else {
      void answerDelivery(deps, {
        request,
        response,
        provider,
        address: clientAddress(request, deps.trustedProxyHops),
        ids: requestIdsOf(request),
        startedAt: performance.now(),
        endsAt: endOf(request, deps.withinMs),
        share: undefined,
        rawBody: undefined,
        workMs: 0,
        isCheap: false,
      })
    }
  }
}

/** The provider name in a webhook path, whether the provider is known or not; null for every other path. */
export function providerNameOf({ url = '' }: IncomingMessage): string | null {
  if (!url.startsWith(PATH)) return null
  const query = url.indexOf('?')
  return url.slice(PATH.length, query === -1 ? undefined : query)
}

/** A delivery on its way from its head to its answer. */
interface Call {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly provider: Provider
  /** The client address to which the delivery counts. */
  readonly address: string
  readonly ids: RequestIds
  /** The value of `performance.now()` when its head had arrived. */
  readonly startedAt: number
  /** The value of `performance.now()` at which it must be answered. */
  readonly endsAt: number
  share: BodyShare | undefined
  rawBody: Buffer | undefined
  /** The duration of its check in milliseconds. */
  workMs: number
  /** Whether it is small enough to be checked without a turn, and has begun. */
  isCheap: boolean
}

/**
 * Never throws: every error becomes an answer. The steps are plain functions: the garbage collector copies what an async
 * function holds while it waits.
 */
async function answerDelivery(deps: WebhookRouteDeps, call: Call): Promise<void> {
  try {
    call.rawBody = await readBody(deps, call)
    if (call.rawBody.length > MOST_FREE_BYTES) await untilTurn(deps, call)
    else startCheap(deps, call)
    const accepted = await receive(deps, call, call.rawBody)
    // The database confirms new events together, but repetitions are found one by one. Answers that are written in one turn
    // of the event loop wake their reader once, not each time.
    if (isRepetition(accepted)) await endOfTurn()
    else if (provesAddress(accepted)) deps.known.add(call.address)
    sendAccepted(deps, call, accepted)
    logAccepted(deps, call, accepted)
  } catch (thrown) {
    await answerRefused(deps, call, thrown)
  } finally {
    if (call.isCheap) deps.turns.leave()
    call.share?.release()
  }
}

/** Rejects a delivery by its head, or reads its body. */
function readBody(deps: WebhookRouteDeps, call: Call): Promise<Buffer> {
  const { request, provider, address, endsAt } = call
  refuseLargeBody(request, provider.maxBytes)
  refuseEncodedBody(request)
  refuseExhausted(deps, call)
  const share = deps.budget.open({ endsAt, address, announced: announcedBytes(request) })
  call.share = share
  return readAffordable(deps, call, share)
}

function startCheap({ turns }: WebhookRouteDeps, call: Call): void {
  turns.enter()
  call.isCheap = true
}

/** Verifies and stores a delivery whose body has arrived. */
function receive(deps: WebhookRouteDeps, call: Call, rawBody: Buffer): Promise<Accepted> {
  const { request, provider, address, ids, endsAt, share } = call
  share?.complete()
  // Other deliveries may have used up the time while this one arrived.
  refuseCostly(deps, call, rawBody.length)
  const timed = <Result>(work: () => Result): Result => {
    const startedAt = performance.now()
    const result = work()
    call.workMs += performance.now() - startedAt
    return result
  }
  const delivery = { rawBody, rawHeaders: request.rawHeaders, query: queryOf(request), from: address, timed }
  const askFor = <T>(objects: readonly string[], ask: (asker: Asker) => Promise<T>): Promise<T> =>
    deps.strangers.ask({ address, objects: objects.map((object) => `${provider.name} ${object}`) }, ask)
  // Most checks run before their first wait. The others report what they do after it.
  const receiving = timed(() => receiveWebhook(deps, { provider, delivery, requestId: ids.requestId, endsAt, askFor }))
  return deps.lastAnswers.outcomeOf(receiving, endsAt)
}

function answerRefused(deps: WebhookRouteDeps, call: Call, thrown: unknown): Promise<void> {
  const { rawBody } = call
  const isForged = signatureInvalid.is(thrown)
  // Counted before the body is released: then it has no length any more.
  const error = isForged ? countForged(deps, call, thrown) : countUnchecked(deps, call, toAppError(thrown))
  if (isForged && rawBody !== undefined) releaseBuffer(rawBody)
  logRefused(deps, call, error)
  return writeError(call.response, error, call.ids.requestId)
}

function isRepetition(accepted: Accepted): boolean {
  return 'events' in accepted && accepted.events.every(({ outcome }) => outcome === 'duplicate')
}

/**
 * Whether a delivery proves that its address belongs to the provider. If nothing is signed, anybody can deliver one of
 * their own payments, so only a payment that succeeded counts.
 */
function provesAddress(accepted: Accepted): boolean {
  if (!('events' in accepted)) return false
  if (accepted.secretId !== UNSIGNED) return true
  return accepted.events.some(({ event, outcome }) => outcome === 'recorded' && event.type === 'payment.succeeded')
}

/** The announced length of a request in bytes; infinite if it announces none. */
function announcedBytes({ headers }: IncomingMessage): number {
  return Number(headers['content-length'] ?? Number.POSITIVE_INFINITY)
}

function queryOf({ url = '' }: IncomingMessage): string {
  const at = url.indexOf('?')
  return at === -1 ? '' : url.slice(at + 1)
}

function sendAccepted({ limits }: WebhookRouteDeps, { response, provider, ids }: Call, accepted: Accepted): void {
  const headers = { ...commonHeaders(ids.requestId), ...limits.provider.headers(limits.provider.count(provider.name)) }
  const handshake = 'handshake' in accepted ? accepted.handshake : null
  if (handshake !== null && 'empty' in handshake) {
    response.writeHead(204, headers).end()
    return
  }
  const body = handshake === null ? RECEIVED : JSON.stringify(handshake.json)
  response.writeHead(200, { ...headers, 'Content-Type': CONTENT_TYPE, 'Content-Length': Buffer.byteLength(body) })
  response.end(body)
}

/**
 * Rejects a delivery before its body is read, if its provider is over its limit, or if its address is over its limit and it
 * has no signature. A signed delivery is still checked, so that an authentic one gets its 200 during a flood of forgeries.
 * The exception: it is large or its address is unknown, and no processor time is left for it.
 */
function refuseExhausted(deps: WebhookRouteDeps, call: Call): void {
  const { request, provider, address } = call
  const { limits } = deps
  const authentic = limits.provider.peek(provider.name)
  if (authentic.remaining <= 0) throw unread(request, limits.provider.refusal(authentic))
  refuseCostly(deps, call, Number(request.headers['content-length'] ?? 0))
  if (provider.signedHeaders.some((name) => request.headers[name] !== undefined)) return
  if (mayBeSearched(deps, call)) return
  const failed = limits.failed.peek(address)
  if (failed.remaining <= 0) throw unread(request, limits.failed.refusal(failed))
}

// Nearly all authentic deliveries are smaller. Most schemes check this length in a fraction of a millisecond.
const MOST_FREE_BYTES = 16_384

/** Rejects a delivery for which no processor time is left. */
function refuseCostly({ checks }: WebhookRouteDeps, { request, address }: Call, bytes: number): void {
  const refusal = checks.refusalOf(address, bytes <= MOST_FREE_BYTES)
  if (refusal !== null) throw unread(request, refusal)
}

/** Reads the body. If it has no announced length and its address has no processor time left, only a small one is accepted. */
function readAffordable(
  { checks }: WebhookRouteDeps,
  { request, provider, address }: Call,
  share: BodyShare,
): Promise<Buffer> {
  const isOpen = request.headers['content-length'] === undefined && provider.maxBytes > MOST_FREE_BYTES
  const refusal = isOpen ? checks.refusalOf(address, false) : null
  if (refusal === null) return readRawBody(request, provider.maxBytes, share)
  return readRawBody(request, MOST_FREE_BYTES, share).catch((error: unknown) => {
    throw payloadTooLarge.is(error) ? unread(request, refusal) : error
  })
}

/** Waits until a large body may be checked. Until then it can be dropped for other bodies, as if it were still arriving. */
async function untilTurn({ turns, known }: WebhookRouteDeps, { address, share, rawBody }: Call): Promise<void> {
  const leaving = new AbortController()
  share?.onReading(() => {
    if (rawBody !== undefined) releaseBuffer(rawBody)
    leaving.abort(overloaded({ reason: 'no_turn' }, { headers: { 'Retry-After': '1', ...CLOSE.headers } }))
  })
  await turns.next({ isKnown: known.has(address), signal: leaving.signal })
}

// Providers that sign in the body send far less. This length is read in a millisecond.
const MOST_SEARCHED_BYTES = 65_536

/** Whether to read a body although its address is over its limit: it is small, and not too many were read in vain. */
function mayBeSearched(deps: WebhookRouteDeps, call: Call): boolean {
  const { request, provider } = call
  if (!isSearchable(deps, call) || deps.limits.searched.peek(provider.name).remaining <= 0) return false
  return Number(request.headers['content-length'] ?? Number.NaN) <= MOST_SEARCHED_BYTES
}

/** Whether the signature may be in the body, or there is none and strangers may share the address of the provider. */
function isSearchable({ known }: WebhookRouteDeps, { provider, address }: Call): boolean {
  return provider.signsInBody || (provider.signedHeaders.length === 0 && known.has(address))
}

// The cost of reading them, in addition to the check.
const BYTES_PER_MS = 1_048_576

/** Counts a delivery that is not authentic. Returns the error to send: `rate_limited` if its address is over its limit. */
function countForged(deps: WebhookRouteDeps, call: Call, refused: AppError): AppError {
  const { provider, address, workMs, rawBody } = call
  const { limits, metrics, checks, turns } = deps
  metrics.unverified(provider.name, String(refused.details.reason))
  const bytes = rawBody?.length ?? 0
  const ms = workOf(workMs, bytes)
  checks.charge(address, ms + bytes / BYTES_PER_MS)
  if (bytes > MOST_FREE_BYTES) turns.rest(ms)
  const allowance = limits.failed.count(address)
  if (allowance.remaining < 0 && isSearchable(deps, call)) limits.searched.count(provider.name)
  if (refused.details.reason === TRANSMISSION_REUSED) alarmOfReuse(deps, call, { refused, allowance })
  return allowance.remaining < 0 ? limits.failed.refusal(allowance, refused.details) : refused
}

interface Reuse {
  readonly refused: AppError
  readonly allowance: Allowance
}

/** Beyond the limit of its address, a reuse is only counted: otherwise one intercepted delivery could fill the log. */
function alarmOfReuse(deps: WebhookRouteDeps, call: Call, { refused, allowance }: Reuse): void {
  const { metrics, logger, summary } = deps
  const { ids, provider } = call
  metrics.transmissionReused(provider.name)
  if (allowance.remaining < 0 || !summary.takeAlarm()) return
  const { transmissionId } = refused.details
  logger.error({ ...ids, provider: provider.name, transmissionId }, 'webhook.transmission-reused')
}

/** Counts an unchecked delivery towards the limit of its address: a stranger can send any number of them. */
function countUnchecked({ limits }: WebhookRouteDeps, { address }: Call, error: AppError): AppError {
  if (!notChecked.is(error)) return error
  const allowance = limits.failed.count(address)
  return allowance.remaining < 0 ? limits.failed.refusal(allowance, error.details) : error
}

const CLOSE = { headers: { Connection: 'close' } }

// Discarding this many bytes costs less than another connection.
const MOST_DISCARDED_BYTES = 65_536

/** Returns an error that also closes the connection if the unread body is large or has no announced length. */
function unread({ complete, headers: { 'content-length': length } }: IncomingMessage, refusal: AppError): AppError {
  if (complete || Number(length ?? Number.NaN) <= MOST_DISCARDED_BYTES) return refusal
  return refusal.with(CLOSE)
}

function logAccepted({ logger, metrics }: WebhookRouteDeps, call: Call, accepted: Accepted): void {
  const { ids } = call
  const provider = call.provider.name
  metrics.matched(provider, accepted.secretId)
  if ('handshake' in accepted) {
    metrics.delivered(provider, 'handshake')
    logger.info({ ...ids, provider, ms: elapsed(call) }, 'webhook.handshake')
    return
  }
  for (const { event, outcome } of accepted.events) {
    metrics.delivered(provider, outcome)
    const names = { eventId: event.id.slice(0, 64), type: event.type.slice(0, 64) }
    const line = { ...ids, provider, ...names, ms: elapsed(call) }
    const reason = outcome === 'unhandled' ? event.facts.withheld : undefined
    if (reason !== undefined) {
      metrics.withheld(provider, reason)
      logger.warn({ ...line, reason }, 'event.withheld')
    } else logger.info(line, outcome === 'unhandled' ? 'event.unhandled' : `webhook.${outcome}`)
  }
}

function logRefused({ logger, metrics, summary }: WebhookRouteDeps, call: Call, error: AppError): void {
  const { ids, address } = call
  const provider = call.provider.name
  const { code, status, details } = error
  metrics.delivered(provider, isAskedInVain(error) ? ASKED_IN_VAIN : code)
  const line = { ...ids, provider, status, code, ...details, ms: elapsed(call) }
  // An unchecked delivery may come from anybody. It is not our failure, and nobody must be woken up for it.
  if (status >= 500 && !notChecked.is(error)) logger.error({ ...line, error }, 'webhook.failed')
  else if (status !== 429 && summary.takeLine()) logger.warn(line, 'webhook.refused')
  else summary.add({ ...details, requestId: ids.requestId, provider, address, status, code })
}

// The sender must wait because of its own requests. Every dependency is available.
const ASKED_IN_VAIN = 'asked_in_vain'

function isAskedInVain(error: AppError): boolean {
  return notChecked.is(error) && error.details.reason === CERTIFICATE_ASKED_IN_VAIN
}

function elapsed({ startedAt }: Call): number {
  return Math.round((performance.now() - startedAt) * 10) / 10
}
