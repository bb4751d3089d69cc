import type { RequestListener } from 'node:http'
import { refuseLargeBody } from '@oncehook/kernel/http/server/raw-body'
import type { Logger } from '@oncehook/kernel/log/logger'
import Koa, { type Middleware } from 'koa'
import { createCors } from './cors.ts'
import { createErrorResponder } from './error-responder.ts'
import { createOpenApiRoute } from './openapi/openapi-route.ts'
import { createOrderRoutes, type OrderRoutesDeps } from './orders/order-routes.ts'
import { createRequestContext, type RequestState } from './request-context.ts'
import { guardRoute, refuseUnknownMethods } from './route-guard.ts'
import { createWebhookChecks, createWebhooks, type WebhookDeps } from './webhooks/webhooks.ts'

/** The dependencies of the application. */
export interface AppDeps {
  readonly logger: Logger
  readonly origins: ReadonlySet<string>
  readonly webhooks: WebhookDeps
  readonly orders: OrderRoutesDeps
}

/** Creates the handler of the public listener. The middleware runs in the order of these lines. */
export function createApp(deps: AppDeps): RequestListener {
  const app = new Koa<RequestState>()
  app.silent = true
  app.use(createWebhooks(deps.webhooks))
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
  return app.callback()
}

/** Shows that the process responds, and nothing else. */
const answerHealth: Middleware<RequestState> = async (ctx, next) => {
  if (ctx.path !== '/healthz') return next()
  ctx.set('Cache-Control', 'no-store')
  ctx.body = { status: 'ok' }
}
