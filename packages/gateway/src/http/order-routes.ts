import Router from '@koa/router'
import type { TokenHolders } from '../settings.ts'
import { refuseUnwanted } from './accept.ts'
import { principalOf } from './api-token.ts'
import { deleteOrder, patchOrder, putOrder } from './change-order.ts'
import { createOrder } from './create-order.ts'
import { passOverBody } from './limit-body.ts'
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
  const takeNoBody = async (ctx: OrderContext, next: Next): Promise<unknown> => {
    refuseUnwanted(ctx)
    await passOverBody(ctx, deps.maxBodyBytes)
    return next()
  }
  const steps = [authenticate, restrain] as const
  router.post(ORDERS_PATH, ...steps, (ctx) => createOrder(deps, ctx))
  router.get(ORDERS_PATH, ...steps, takeNoBody, (ctx) => listOrders(deps, ctx))
  router.get(item, ...steps, takeNoBody, (ctx) => getOrder(deps, ctx))
  router.put(item, ...steps, (ctx) => putOrder(deps, ctx))
  router.patch(item, ...steps, (ctx) => patchOrder(deps, ctx))
  router.delete(item, ...steps, takeNoBody, (ctx) => deleteOrder(deps, ctx))
  return router
}
