import Router from '@koa/router'
import { notAcceptable } from '@oncehook/kernel/error-codes'
import type { TokenHolders } from '../settings.ts'
import { principalOf } from './api-token.ts'
import { deleteOrder, patchOrder, putOrder } from './change-order.ts'
import { createOrder } from './create-order.ts'
import { ORDERS_PATH, type OrderContext, type OrderDeps, type OrderState } from './order-context.ts'
import type { RateLimit } from './rate-limit.ts'
import { getOrder, listOrders } from './read-orders.ts'

/** What the routes of `/api/orders` work with. */
export interface OrderRoutesDeps extends OrderDeps {
  readonly tokens: TokenHolders
  /** Requests of each principal. */
  readonly limit: RateLimit
}

type Next = () => Promise<unknown>

/** Creates the routes of `/api/orders`: each method is one procedure of fulfilment, which decides everything. */
export function createOrderRoutes(deps: OrderRoutesDeps): Router<OrderState> {
  const router = new Router<OrderState>({ sensitive: true, strict: true })
  const item = `${ORDERS_PATH}/:id`
  const authenticate = (ctx: OrderContext, next: Next): Promise<unknown> => {
    ctx.state.principal = principalOf(ctx.req.headers.authorization, deps.tokens)
    return next()
  }
  const restrain = (ctx: OrderContext, next: Next): Promise<unknown> => {
    const allowance = deps.limit.count(ctx.state.principal)
    if (allowance.remaining < 0) throw deps.limit.refusal(allowance)
    ctx.set(deps.limit.headers(allowance))
    return next()
  }
  const steps = [authenticate, restrain, negotiate] as const
  router.post(ORDERS_PATH, ...steps, (ctx) => createOrder(deps, ctx))
  router.get(ORDERS_PATH, ...steps, (ctx) => listOrders(deps, ctx))
  router.get(item, ...steps, (ctx) => getOrder(deps, ctx))
  router.put(item, ...steps, (ctx) => putOrder(deps, ctx))
  router.patch(item, ...steps, (ctx) => patchOrder(deps, ctx))
  router.delete(item, ...steps, (ctx) => deleteOrder(deps, ctx))
  return router
}

const MEDIA_RANGE = /[\w!#$&^.+*-]+\/[\w!#$&^.+*-]+/

/** Refuses where the caller takes no JSON (RFC 9110 section 12.5.1); an Accept that cannot be read counts as none. */
function negotiate(ctx: OrderContext, next: Next): Promise<unknown> {
  const { accept } = ctx.req.headers
  if (accept !== undefined && MEDIA_RANGE.test(accept) && ctx.accepts('application/json') === false)
    throw notAcceptable()
  return next()
}
