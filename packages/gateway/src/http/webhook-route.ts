import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { setImmediate as endOfTurn } from 'node:timers/promises'
import { payloadTooLarge, unsupportedMediaType } from '@oncehook/kernel/error-codes'
import { AppError, toAppError } from '@oncehook/kernel/errors'
import { freeBytes } from '@oncehook/kernel/http/free-bytes'
import { readRawBody } from '@oncehook/kernel/http/raw-body'
import type { Logger } from '@oncehook/kernel/logger'
import { signatureInvalid } from '../errors.ts'
import type { DeliveryMetrics } from '../metrics.ts'
import type { Provider } from '../providers/provider.ts'
import type { Providers } from '../providers/read-providers.ts'
import { type Accepted, type ReceiveDeps, receiveWebhook } from '../receive/receive-webhook.ts'
import { endOf } from './answer-deadline.ts'
import type { BodyBudget, BodyShare } from './body-budget.ts'
import { clientAddress, type RateLimit } from './rate-limit.ts'
import { commonHeaders, requestIdOf } from './request-context.ts'
import { writeError } from './write-error.ts'

/** What the route works with. */
export interface WebhookRouteDeps extends ReceiveDeps {
  readonly providers: () => Providers
  readonly logger: Logger
  readonly metrics: DeliveryMetrics
  readonly limits: DeliveryLimits
  readonly trustedProxyHops: number
  readonly budget: BodyBudget
  /** How long a delivery may wait for everything together, in milliseconds. */
  readonly withinMs: number
}

/** What is counted of deliveries. */
interface DeliveryLimits {
  /** Refused ones of each address. */
  readonly failed: RateLimit
  /** Bodies that were read in vain for each provider, although their address was beyond its limit. */
  readonly searched: RateLimit
  /** Authentic ones of each provider. */
  readonly provider: RateLimit
}

const PATH = '/api/webhooks/'
const CONTENT_TYPE = 'application/json; charset=utf-8'
const RECEIVED = '{"received":true}'

/**
 * Answers `POST /api/webhooks/<provider>` in front of the application and passes everything else on to it: the layers of
 * Koa would take a fifth more time, and nothing on this way uses them.
 */
export function answerDeliveriesFirst(deps: WebhookRouteDeps, application: RequestListener): RequestListener {
  return (request, response) => {
    const name = request.method === 'POST' ? providerNameOf(request) : null
    const provider = name === null ? undefined : deps.providers().get(name)
    if (provider === undefined) application(request, response)
    else void answerDelivery(deps, { request, response, provider, requestId: requestIdOf(request) })
  }
}

/** The name of the provider whose deliveries come by a request's path, known or not; null for every other path. */
export function providerNameOf({ url = '' }: IncomingMessage): string | null {
  if (!url.startsWith(PATH)) return null
  const query = url.indexOf('?')
  return url.slice(PATH.length, query === -1 ? undefined : query)
}

interface Call {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly provider: Provider
  readonly requestId: string
}

/** Never throws: whatever goes wrong becomes an answer. */
async function answerDelivery(deps: WebhookRouteDeps, call: Call): Promise<void> {
  const { request, provider, requestId } = call
  const startedAt = performance.now()
  const endsAt = endOf(request, deps.withinMs)
  let share: BodyShare | undefined
  let rawBody: Buffer | undefined
  try {
    refuseAnnounced(request, provider)
    refuseExhausted(deps, request, provider)
    share = deps.budget.open(endsAt)
    rawBody = await readRawBody(request, provider.maxBytes, share)
    share.complete()
    const delivery = { rawBody, rawHeaders: request.rawHeaders, query: queryOf(request) }
    const accepted = await receiveWebhook(deps, { provider, delivery, requestId, endsAt })
    // New events come back from the database together. Repetitions are known one by one: answers of one turn of the event
    // loop that are written one after the other wake their reader once, not each time.
    if (isRepetition(accepted)) await endOfTurn()
    sendAccepted(deps, call, accepted)
    logAccepted(deps, { requestId, provider: provider.name, startedAt, accepted })
  } catch (thrown) {
    const isForged = signatureInvalid.is(thrown)
    if (isForged && rawBody !== undefined) freeBytes(rawBody)
    const error = isForged ? countForged(deps, call, thrown) : toAppError(thrown)
    logRefused(deps, { requestId, provider: provider.name, startedAt, error })
    await sendRefused(call, error)
  } finally {
    share?.release()
  }
}

function isRepetition(accepted: Accepted): boolean {
  return 'events' in accepted && accepted.events.every(({ outcome }) => outcome === 'duplicate')
}

function queryOf({ url = '' }: IncomingMessage): string {
  const at = url.indexOf('?')
  return at === -1 ? '' : url.slice(at + 1)
}

function sendAccepted({ limits }: WebhookRouteDeps, { response, provider, requestId }: Call, accepted: Accepted): void {
  const headers = { ...commonHeaders(requestId), ...limits.provider.headers(limits.provider.count(provider.name)) }
  const handshake = 'handshake' in accepted ? accepted.handshake : null
  if (handshake !== null && 'empty' in handshake) {
    response.writeHead(204, headers).end()
    return
  }
  const body = handshake === null ? RECEIVED : JSON.stringify(handshake.json)
  response.writeHead(200, { ...headers, 'Content-Type': CONTENT_TYPE, 'Content-Length': Buffer.byteLength(body) })
  response.end(body)
}

async function sendRefused({ response, requestId }: Call, error: AppError): Promise<void> {
  for (const [name, value] of Object.entries(commonHeaders(requestId))) response.setHeader(name, value)
  await writeError(response, error, requestId)
}

/** What the head of a request gives away needs no body. */
function refuseAnnounced({ headers }: IncomingMessage, { maxBytes }: Provider): void {
  if (Number(headers['content-length'] ?? 0) > maxBytes) throw payloadTooLarge({ maxBytes }, CLOSE)
  const coding = headers['content-encoding']
  if (coding === undefined || coding.toLowerCase() === 'identity') return
  throw unsupportedMediaType({}, { headers: { 'Accept-Encoding': 'identity', ...CLOSE.headers } })
}

/**
 * Refuses before the body is read: a provider beyond its limit, and an address beyond its own that shows no signature.
 * A signed delivery is always looked at, so that no flood of forgeries costs an authentic one its 200.
 */
function refuseExhausted(deps: WebhookRouteDeps, request: IncomingMessage, provider: Provider): void {
  const { limits, trustedProxyHops } = deps
  const authentic = limits.provider.peek(provider.name)
  if (authentic.remaining <= 0) throw closing(limits.provider.refusal(authentic))
  if (provider.signedHeaders.some((name) => request.headers[name] !== undefined)) return
  if (mayBeSearched(deps, request, provider)) return
  const failed = limits.failed.peek(clientAddress(request, trustedProxyHops))
  if (failed.remaining <= 0) throw closing(limits.failed.refusal(failed))
}

// Far more than a provider that signs in the body sends, and read in a millisecond.
const MOST_SEARCHED_BYTES = 65_536

/** Whether a body is read for the signature that may be in it: a small one, while not too many were read in vain. */
function mayBeSearched({ limits }: WebhookRouteDeps, { headers }: IncomingMessage, provider: Provider): boolean {
  if (!provider.signsInBody || limits.searched.peek(provider.name).remaining <= 0) return false
  return Number(headers['content-length'] ?? Number.NaN) <= MOST_SEARCHED_BYTES
}

/** Counts a delivery that is not authentic; beyond the limit of its address it is told so. */
function countForged(deps: WebhookRouteDeps, { request, provider }: Call, refused: AppError): AppError {
  const { limits, metrics, trustedProxyHops } = deps
  metrics.unverified(provider.name, String(refused.details.reason))
  const allowance = limits.failed.count(clientAddress(request, trustedProxyHops))
  if (allowance.remaining < 0 && provider.signsInBody) limits.searched.count(provider.name)
  return allowance.remaining < 0 ? limits.failed.refusal(allowance, refused.details) : refused
}

const CLOSE = { headers: { Connection: 'close' } }

function closing({ code, status, retry, message: says, headers }: AppError): AppError {
  return new AppError(code, { status, retry, says }, { headers: { ...headers, ...CLOSE.headers } })
}

interface Judged {
  readonly requestId: string
  readonly provider: string
  readonly startedAt: number
}

function logAccepted({ logger, metrics }: WebhookRouteDeps, call: Judged & { accepted: Accepted }): void {
  const { requestId, provider, accepted } = call
  metrics.matched(provider, accepted.secretId)
  if ('handshake' in accepted) {
    metrics.delivered(provider, 'handshake')
    logger.info({ requestId, provider, ms: elapsed(call) }, 'webhook.handshake')
    return
  }
  for (const { event, outcome } of accepted.events) {
    metrics.delivered(provider, outcome)
    const names = { eventId: event.id.slice(0, 64), type: event.type.slice(0, 64) }
    const line = { requestId, provider, ...names, ms: elapsed(call) }
    logger.info(line, outcome === 'unhandled' ? 'event.unhandled' : `webhook.${outcome}`)
  }
}

function logRefused({ logger, metrics }: WebhookRouteDeps, call: Judged & { error: AppError }): void {
  const { code, status, details } = call.error
  metrics.delivered(call.provider, code)
  const line = { requestId: call.requestId, provider: call.provider, status, code, ...details, ms: elapsed(call) }
  if (status >= 500) logger.error({ ...line, error: call.error }, 'webhook.failed')
  else logger.warn(line, 'webhook.refused')
}

function elapsed({ startedAt }: Judged): number {
  return Math.round((performance.now() - startedAt) * 10) / 10
}
