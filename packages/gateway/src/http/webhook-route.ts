import type { IncomingMessage } from 'node:http'
import { methodNotAllowed, notFound, payloadTooLarge, unsupportedMediaType } from '@oncehook/kernel/error-codes'
import { AppError, toAppError } from '@oncehook/kernel/errors'
import { readRawBody } from '@oncehook/kernel/http/raw-body'
import type { Logger } from '@oncehook/kernel/logger'
import type { Context, Middleware } from 'koa'
import { signatureInvalid } from '../errors.ts'
import type { DeliveryMetrics } from '../metrics.ts'
import type { Provider } from '../providers/provider.ts'
import type { Providers } from '../providers/read-providers.ts'
import { type Accepted, type ReceiveDeps, receiveWebhook } from '../receive/receive-webhook.ts'
import type { BodyBudget, BodyShare } from './body-budget.ts'
import { clientAddress, type RateLimit } from './rate-limit.ts'
import type { RequestState } from './request-context.ts'
import { resourceAt } from './resources.ts'
import { answerOptions } from './route-guard.ts'

/** What the route works with. */
export interface WebhookRouteDeps extends ReceiveDeps {
  readonly providers: () => Providers
  readonly logger: Logger
  readonly metrics: DeliveryMetrics
  /** Refused deliveries of each address, and authentic ones of each provider. */
  readonly limits: { readonly failed: RateLimit; readonly provider: RateLimit }
  readonly trustedProxyHops: number
  readonly budget: BodyBudget
}

const PATH = '/api/webhooks/'
const RECEIVED = Buffer.from('{"received":true}')

/** Creates `POST /api/webhooks/<provider>`; every other path goes on to the next middleware. */
export function createWebhookRoute(deps: WebhookRouteDeps): Middleware<RequestState> {
  return async (ctx, next) => {
    const name = providerNameOf(ctx.req)
    if (name === null) return next()
    const provider = deps.providers().get(name)
    if (provider === undefined) throw notFound()
    if (ctx.method !== 'POST') return answerOtherMethod(deps, { ctx, provider })
    await answerDelivery(deps, { ctx, provider })
  }
}

function providerNameOf({ url = '' }: IncomingMessage): string | null {
  if (!url.startsWith(PATH)) return null
  const query = url.indexOf('?')
  return url.slice(PATH.length, query === -1 ? undefined : query)
}

function answerOtherMethod({ clock }: WebhookRouteDeps, { ctx, provider }: Call): void {
  const resource = resourceAt(ctx.path)
  if (resource === undefined) throw notFound()
  const check = ctx.method === 'GET' ? provider.answerCheck?.(ctx.querystring, clock.now()) : undefined
  if (check !== undefined && check !== null) {
    ctx.set('Cache-Control', 'no-store')
    ctx.body = check
    return
  }
  if (ctx.method !== 'OPTIONS') throw methodNotAllowed({}, { headers: { Allow: resource.methods.join(', ') } })
  answerOptions(ctx, resource)
}

interface Call {
  readonly ctx: Context & { state: RequestState }
  readonly provider: Provider
}

async function answerDelivery(deps: WebhookRouteDeps, { ctx, provider }: Call): Promise<void> {
  const startedAt = performance.now()
  const { requestId } = ctx.state
  let share: BodyShare | undefined
  try {
    refuseAnnounced(ctx.req, provider)
    refuseExhausted(deps, ctx, provider)
    share = deps.budget.open()
    const rawBody = await readRawBody(ctx.req, provider.maxBytes, share)
    share.complete()
    const delivery = { rawBody, rawHeaders: ctx.req.rawHeaders, query: queryOf(ctx.req) }
    const accepted = await receiveWebhook(deps, { provider, delivery, requestId })
    ctx.set(deps.limits.provider.headers(deps.limits.provider.count(provider.name)))
    sendAccepted(ctx, accepted)
    logAccepted(deps, { requestId, provider: provider.name, startedAt, accepted })
  } catch (thrown) {
    const error = signatureInvalid.is(thrown) ? countFailed(deps, ctx, thrown) : toAppError(thrown)
    logRefused(deps, { requestId, provider: provider.name, startedAt, error })
    throw error.code === 'internal' ? thrown : error
  } finally {
    share?.release()
  }
}

function queryOf({ url = '' }: IncomingMessage): string {
  const at = url.indexOf('?')
  return at === -1 ? '' : url.slice(at + 1)
}

function sendAccepted(ctx: Context, accepted: Accepted): void {
  const handshake = 'handshake' in accepted ? accepted.handshake : null
  if (handshake !== null && 'empty' in handshake) {
    ctx.status = 204
    return
  }
  ctx.status = 200
  ctx.type = 'application/json; charset=utf-8'
  ctx.body = handshake === null ? RECEIVED : JSON.stringify(handshake.json)
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
function refuseExhausted({ limits, trustedProxyHops }: WebhookRouteDeps, ctx: Context, provider: Provider): void {
  const authentic = limits.provider.peek(provider.name)
  if (authentic.remaining <= 0) throw closing(limits.provider.refusal(authentic))
  const failed = limits.failed.peek(clientAddress(ctx.req, trustedProxyHops))
  if (failed.remaining > 0) return
  if (!provider.signedHeaders.some((name) => ctx.req.headers[name] !== undefined))
    throw closing(limits.failed.refusal(failed))
}

/** Counts a delivery that is not authentic; beyond the limit of its address it is told so. */
function countFailed({ limits, trustedProxyHops }: WebhookRouteDeps, ctx: Context, refused: AppError): AppError {
  const allowance = limits.failed.count(clientAddress(ctx.req, trustedProxyHops))
  return allowance.remaining < 0 ? limits.failed.refusal(allowance) : refused
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
  if (typeof details.reason === 'string' && status === 401) metrics.unverified(call.provider, details.reason)
  const line = { requestId: call.requestId, provider: call.provider, status, code, ...details, ms: elapsed(call) }
  if (status >= 500) logger.error({ ...line, error: call.error }, 'webhook.failed')
  else logger.warn(line, 'webhook.refused')
}

function elapsed({ startedAt }: Judged): number {
  return Math.round((performance.now() - startedAt) * 10) / 10
}
