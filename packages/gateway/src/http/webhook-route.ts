import type { IncomingMessage } from 'node:http'
import { methodNotAllowed, notFound, unsupportedMediaType } from '@oncehook/kernel/error-codes'
import { type AppError, toAppError } from '@oncehook/kernel/errors'
import { readRawBody } from '@oncehook/kernel/http/raw-body'
import type { Logger } from '@oncehook/kernel/logger'
import type { Context, Middleware } from 'koa'
import type { DeliveryMetrics } from '../metrics.ts'
import type { Provider } from '../providers/provider.ts'
import type { Providers } from '../providers/read-providers.ts'
import { type Accepted, type ReceiveDeps, receiveWebhook } from '../receive/receive-webhook.ts'
import type { RequestState } from './request-context.ts'

/** What the route works with. */
export interface WebhookRouteDeps extends ReceiveDeps {
  readonly providers: () => Providers
  readonly logger: Logger
  readonly metrics: DeliveryMetrics
}

const PATH = '/api/webhooks/'
const ALLOW = { Allow: 'POST, OPTIONS' }
const RECEIVED = Buffer.from('{"received":true}')

/** Creates `POST /api/webhooks/<provider>`; every other path goes on to the next middleware. */
export function createWebhookRoute(deps: WebhookRouteDeps): Middleware<RequestState> {
  return async (ctx, next) => {
    const name = providerNameOf(ctx.req)
    if (name === null) return next()
    const provider = deps.providers().get(name)
    if (provider === undefined) throw notFound()
    if (ctx.method === 'OPTIONS') return answerOptions(ctx)
    if (ctx.method !== 'POST') throw methodNotAllowed({}, { headers: ALLOW })
    await answerDelivery(deps, { ctx, provider })
  }
}

function providerNameOf({ url = '' }: IncomingMessage): string | null {
  if (!url.startsWith(PATH)) return null
  const query = url.indexOf('?')
  return url.slice(PATH.length, query === -1 ? undefined : query)
}

function answerOptions(ctx: Context): void {
  ctx.status = 204
  ctx.set(ALLOW)
}

interface Call {
  readonly ctx: Context & { state: RequestState }
  readonly provider: Provider
}

async function answerDelivery(deps: WebhookRouteDeps, { ctx, provider }: Call): Promise<void> {
  const startedAt = performance.now()
  const { requestId } = ctx.state
  try {
    refuseEncoded(ctx.req)
    const rawBody = await readRawBody(ctx.req, provider.maxBytes)
    const delivery = { rawBody, rawHeaders: ctx.req.rawHeaders }
    const accepted = await receiveWebhook(deps, { provider, delivery, requestId })
    ctx.status = 200
    ctx.type = 'application/json; charset=utf-8'
    ctx.body = RECEIVED
    logAccepted(deps, { requestId, provider: provider.name, startedAt, accepted })
  } catch (thrown) {
    const error = toAppError(thrown)
    logRefused(deps, { requestId, provider: provider.name, startedAt, error })
    throw thrown
  }
}

function refuseEncoded(request: IncomingMessage): void {
  const coding = request.headers['content-encoding']
  if (coding === undefined || coding.toLowerCase() === 'identity') return
  throw unsupportedMediaType({ coding: 'refused' }, { headers: { 'Accept-Encoding': 'identity', Connection: 'close' } })
}

interface Judged {
  readonly requestId: string
  readonly provider: string
  readonly startedAt: number
}

function logAccepted({ logger, metrics }: WebhookRouteDeps, call: Judged & { accepted: Accepted }): void {
  const { outcome, event } = call.accepted
  metrics.delivered(call.provider, outcome)
  const line = {
    requestId: call.requestId,
    provider: call.provider,
    eventId: event.id.slice(0, 64),
    type: event.type.slice(0, 64),
    ms: elapsed(call),
  }
  logger.info(line, outcome === 'unhandled' ? 'event.unhandled' : `webhook.${outcome}`)
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
