import { randomUUID } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { guardFraming } from '@oncehook/kernel/http/server/framing-guard'
import { listen } from '@oncehook/kernel/http/server/listen'
import { refuseLargeBody } from '@oncehook/kernel/http/server/raw-body'
import { logRefused } from '@oncehook/kernel/http/server/send-error'
import type { Logger } from '@oncehook/kernel/log/logger'
import Koa, { type Middleware } from 'koa'
import type { Histogram } from 'prom-client'
import { AddressLimits } from '../http/address-limits.ts'
import { createFailedLogins } from '../http/authentication.ts'
import { createErrorResponder } from '../http/errors.ts'
import { createRateLimit, type RateLimit } from '../http/rate-limit.ts'
import { createRequestContext, type RequestState } from '../http/request-context.ts'
import { createCors, guardRoute, refuseUnknownMethods, resourceAt } from '../http/resources.ts'
import type { Inbox } from '../inbox/inbox.ts'
import { createTransmissions } from '../inbox/transmissions.ts'
import { createRequestTimer } from '../metrics.ts'
import { createOpenApiRoute } from '../orders/openapi/openapi-document.ts'
import type { OrderDeps } from '../orders/order-context.ts'
import { createOrderRoutes, type OrderRoutesDeps } from '../orders/order-routes.ts'
import { BodyBudget } from '../webhooks/body-budget.ts'
import type { FindWanting } from '../webhooks/find-wanting.ts'
import { LastAnswers } from '../webhooks/last-answers.ts'
import { RefusalSummary } from '../webhooks/refuse-delivery.ts'
import { createWebhookChecks, createWebhooks, type WebhookDeps } from '../webhooks/webhooks.ts'
import type { GatewayContext } from './gateway-context.ts'

// Together with the rest of the process, the gateway stays below 256 MiB.
const BODY_BYTES = 16 * 1024 * 1024
const LATE_MS = 100
const SUMMARY_MS = 1_000

export interface PublicListener {
  readonly port: number
  readonly webhooks: WebhookDeps
}

/** Where deliveries are stored, who wants them, and where changes of orders are recorded. */
interface Receiving extends Pick<OrderDeps, 'recordChange'> {
  readonly inbox: Inbox
  /** Finds the handlers that want an event. Absent: none are configured. */
  readonly findWanting: FindWanting | undefined
}

/** Opens the public listener. Deliveries and requests are accepted from then on. */
export async function startPublicListener(context: GatewayContext, receiving: Receiving): Promise<PublicListener> {
  const { settings, limits, registry, lifecycle, logger } = context
  const summary = new RefusalSummary(logger)
  const lastAnswers = new LastAnswers()
  const webhooks = { ...describeWebhooks(context, receiving), summary, lastAnswers }
  const orders = describeOrders(context, receiving)
  const app = createApp({ logger, origins: settings.CORS_ORIGINS, webhooks, orders })
  const listener = await listen({
    host: settings.GATEWAY_HOST,
    port: settings.GATEWAY_PORT,
    ...guardFraming({
      handler: timeRequests(app, createRequestTimer(registry)),
      makeRequestId: randomUUID,
      onRefused: (refused) => logRefused(logger, refused),
    }),
    headersTimeoutMs: limits.headersTimeoutMs,
    requestTimeoutMs: limits.requestTimeoutMs,
    maxConnections: settings.MAX_CONNECTIONS,
  })
  const endLate = (): void => {
    webhooks.budget.endLate()
    lastAnswers.endLate()
  }
  const lookForLate = setInterval(endLate, LATE_MS).unref()
  const summarise = setInterval(() => summary.write(), SUMMARY_MS).unref()
  const endTimers = (): void => {
    clearInterval(lookForLate)
    clearInterval(summarise)
    summary.write()
  }
  const stop = async (): Promise<void> => {
    const answerRest = setTimeout(() => lastAnswers.end(), ANSWER_REST_MS)
    await listener.close(CLOSE_MS)
    clearTimeout(answerRest)
    endTimers()
  }
  lifecycle.onStop({ name: 'public listener', withinMs: 4_000, stop })
  return { port: listener.port, webhooks }
}

const CLOSE_MS = 3_500
// This leaves time to answer deliveries that wait for an unresponsive database.
const ANSWER_REST_MS = 2_500

function describeWebhooks(
  context: GatewayContext,
  { inbox, findWanting }: Receiving,
): Omit<WebhookDeps, 'summary' | 'lastAnswers'> {
  const { settings, limits, logger, clock, fetch, providers, metrics } = context
  const windowSeconds = limits.rateWindowSeconds
  return {
    inbox,
    transmissions: createTransmissions({ db: context.mongo.accepting.db, errors: context.databaseErrors }),
    clock,
    findWanting,
    fetch,
    providers: providers.current,
    logger,
    metrics,
    refusals: context.refusals,
    perProvider: createRateLimit({ name: 'provider', limit: settings.RATE_LIMIT_PROVIDER, windowSeconds, clock }),
    addresses: new AddressLimits({ failures: settings.RATE_LIMIT_FAILED, windowSeconds, clock }),
    trustedProxyHops: settings.TRUSTED_PROXY_HOPS,
    withinMs: limits.answerWithinMs,
    budget: new BodyBudget({ capacity: BODY_BYTES, now: () => performance.now() }),
  }
}

function describeOrders(context: GatewayContext, { recordChange }: Receiving): AppDeps['orders'] {
  const { settings, limits, logger, clock, metrics, fulfilment } = context
  const limitOf = (name: string, limit: number): RateLimit =>
    createRateLimit({ name, limit, windowSeconds: limits.rateWindowSeconds, clock })
  return {
    fulfilment,
    tokens: settings.API_TOKENS,
    maxBodyBytes: settings.MAX_BODY_BYTES,
    recordChange,
    clock,
    logger,
    limit: limitOf('api', settings.RATE_LIMIT_API),
    failedLogins: createFailedLogins({
      api: 'orders',
      limit: limitOf('failed', settings.RATE_LIMIT_FAILED),
      trustedProxyHops: settings.TRUSTED_PROXY_HOPS,
      logger,
      count: metrics.loginFailed,
    }),
  }
}

interface AppDeps {
  readonly logger: Logger
  readonly origins: ReadonlySet<string>
  readonly webhooks: WebhookDeps
  readonly orders: OrderRoutesDeps
}

/**
 * Creates the handler of the public listener: deliveries, then everything else. The middleware runs in the order of these lines.
 * Koa makes three objects and four listeners for each request, which would wait in memory with a delivery while the database
 * works. That doubles what the garbage collector copies: a tenth of an accept.
 */
function createApp(deps: AppDeps): RequestListener {
  const answerDelivery = createWebhooks(deps.webhooks)
  const app = new Koa<RequestState>()
  app.silent = true
  app.use(createRequestContext(deps.webhooks.withinMs))
  app.use(createErrorResponder(deps.logger, deps.orders.failedLogins))
  app.use(refuseUnknownMethods)
  app.use(createWebhookChecks(deps.webhooks))
  app.use(createCors(deps.origins))
  app.use(guardRoute)
  app.use((ctx, next) => {
    refuseLargeBody(ctx.req, deps.orders.maxBodyBytes)
    return next()
  })
  app.use(answerHealth)
  app.use(createOpenApiRoute(deps.orders))
  app.use(createOrderRoutes(deps.orders).routes())
  const answerOther = app.callback()
  return (request, response) => {
    if (!answerDelivery(request, response)) void answerOther(request, response)
  }
}

/** Shows that the process responds, and nothing else. */
const answerHealth: Middleware<RequestState> = async (ctx, next) => {
  if (ctx.path !== '/healthz') return next()
  ctx.set('Cache-Control', 'no-store')
  ctx.body = { status: 'ok' }
}

/** Wraps a handler: a histogram records the duration of each answer in seconds, by route and status. */
function timeRequests(handler: RequestListener, timer: Histogram<'route' | 'status'>): RequestListener {
  return (request, response) => {
    const startedAt = performance.now()
    const { url = '' } = request
    response.on('finish', () => {
      const path = url.split('?', 1)[0] ?? ''
      const route = resourceAt(path)?.template ?? 'unknown'
      timer.observe({ route, status: response.statusCode }, (performance.now() - startedAt) / 1_000)
    })
    handler(request, response)
  }
}
