import { methodNotAllowed } from '@oncehook/kernel/error-codes'
import type { Logger } from '@oncehook/kernel/logger'
import Koa, { type Middleware } from 'koa'
import { createErrorResponder } from './error-responder.ts'
import { createOrderRoutes, type OrderRoutesDeps } from './order-routes.ts'
import { type RequestState, requestContext } from './request-context.ts'
import { createWebhookRoute, type WebhookRouteDeps } from './webhook-route.ts'

/** What the public listener serves with. */
export interface AppDeps {
  readonly logger: Logger
  readonly webhooks: WebhookRouteDeps
  readonly orders: OrderRoutesDeps
}

/** Creates the public application: its stack, in the order in which a request meets it. */
export function createApp(deps: AppDeps): Koa<RequestState> {
  const app = new Koa<RequestState>()
  app.silent = true
  const orders = createOrderRoutes(deps.orders)
  app.use(requestContext)
  app.use(createErrorResponder(deps.logger))
  app.use(createWebhookRoute(deps.webhooks))
  app.use(health)
  app.use(orders.routes() as unknown as Middleware<RequestState>)
  app.use(refuseMethod)
  return app
}

const health: Middleware<RequestState> = async (ctx, next) => {
  if (ctx.path !== '/healthz') {
    await next()
    return
  }
  if (ctx.method !== 'GET' && ctx.method !== 'HEAD')
    throw methodNotAllowed({}, { headers: { Allow: 'GET, HEAD, OPTIONS' } })
  ctx.set('Cache-Control', 'no-store')
  ctx.body = { status: 'ok' }
}

const COLLECTION_METHODS = 'GET, HEAD, POST, OPTIONS'
const ITEM_METHODS = 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS'

/** What no route has answered although its path is known has the wrong method. */
const refuseMethod: Middleware<RequestState> = (ctx) => {
  const allow = allowedMethods(ctx.path)
  if (allow === null || ctx.body !== undefined || ctx.status !== 404) return
  if (ctx.method !== 'OPTIONS') throw methodNotAllowed({}, { headers: { Allow: allow } })
  ctx.status = 204
  ctx.set('Allow', allow)
}

function allowedMethods(path: string): string | null {
  if (path === '/api/orders') return COLLECTION_METHODS
  return /^\/api\/orders\/[^/]+$/.test(path) ? ITEM_METHODS : null
}
