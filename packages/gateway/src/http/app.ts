import type { RequestListener } from 'node:http'
import type { Logger } from '@oncehook/kernel/logger'
import Koa, { type Middleware } from 'koa'
import { createCors } from './cors.ts'
import { createErrorResponder } from './error-responder.ts'
import { refuseLargeBody } from './limit-body.ts'
import { createOpenApiRoute } from './openapi-route.ts'
import { createOrderRoutes, type OrderRoutesDeps } from './order-routes.ts'
import { type RequestState, requestContext } from './request-context.ts'
import { guardRoute, refuseUnknownMethods } from './route-guard.ts'
import { createWebhookChecks } from './webhook-checks.ts'
import { answerDeliveriesFirst, type WebhookRouteDeps } from './webhook-route.ts'

/** What the public listener serves with. */
export interface AppDeps {
  readonly logger: Logger
  readonly origins: ReadonlySet<string>
  readonly webhooks: WebhookRouteDeps
  readonly orders: OrderRoutesDeps
}

/** Creates the handler of the public listener: deliveries first, then the application. */
export function createFront(deps: AppDeps): RequestListener {
  return answerDeliveriesFirst(deps.webhooks, createApp(deps).callback())
}

/** The application: its stack, in the order in which a request meets it. */
function createApp(deps: AppDeps): Koa<RequestState> {
  const app = new Koa<RequestState>()
  app.silent = true
  app.use(requestContext)
  app.use(createErrorResponder(deps.logger))
  app.use(refuseUnknownMethods)
  app.use(createWebhookChecks(deps.webhooks))
  app.use(createCors(deps.origins))
  app.use(guardRoute)
  app.use(refuseLargeBody(deps.orders.maxBodyBytes))
  app.use(answerHealth)
  app.use(createOpenApiRoute(deps.orders))
  app.use(createOrderRoutes(deps.orders).routes() as unknown as Middleware<RequestState>)
  return app
}

/** Says that the process answers, and nothing else. */
const answerHealth: Middleware<RequestState> = async (ctx, next) => {
  if (ctx.path !== '/healthz') return next()
  ctx.set('Cache-Control', 'no-store')
  ctx.body = { status: 'ok' }
}
