import Router from '@koa/router'
import { AppError } from '@oncehook/kernel/http/errors'
import type { Logger } from '@oncehook/kernel/log/logger'
import type { Clock } from '@oncehook/kernel/time/clock'
import { scopeMissing } from '../../errors.ts'
import type { ApiGrant, Scope, TokenHolders } from '../../token-holders.ts'
import { refuseUnwanted } from '../accept.ts'
import { holderOf } from '../authentication/bearer-token.ts'
import type { FailedLogins } from '../authentication/failed-logins.ts'
import type { RateLimit } from '../rate-limit.ts'
import { resourceAt } from '../resources.ts'
import { deleteOrder, patchOrder, putOrder } from './change-order.ts'
import { createOrder } from './create-order.ts'
import { ORDERS_PATH, type OrderContext, type OrderDeps, type OrderState } from './order-context.ts'
import { discardBody } from './read-json-body.ts'
import { getOrder, listOrders } from './read-orders.ts'

/** The dependencies of the routes of `/api/orders`. */
export interface OrderRoutesDeps extends OrderDeps {
  readonly tokens: TokenHolders<ApiGrant>
  /** The limit of requests per principal. */
  readonly limit: RateLimit
  readonly failedLogins: FailedLogins
  readonly clock: Clock
  readonly logger: Logger
}

type Next = () => Promise<unknown>
type Step = (ctx: OrderContext, next: Next) => Promise<unknown>

/** Creates the routes of `/api/orders`. Each method calls one procedure of fulfilment, which makes all decisions. */
export function createOrderRoutes(deps: OrderRoutesDeps): Router<OrderState> {
  const router = new Router<OrderState>({ sensitive: true, strict: true })
  const item = `${ORDERS_PATH}/:id`
  const restrain: Step = (ctx, next) => {
    const allowance = deps.limit.count(ctx.state.principal)
    if (allowance.remaining < 0) throw deps.limit.refusal(allowance)
    ctx.set(deps.limit.headers(allowance))
    return next()
  }
  const takeNoBody: Step = async (ctx, next) => {
    refuseUnwanted(ctx)
    await discardBody(ctx, deps.maxBodyBytes)
    return next()
  }
  const steps = [authenticate(deps), restrain] as const
  const [read, write, remove] = [demand('orders:read'), demand('orders:write'), demand('orders:delete')]
  const log = logAnswered(deps)
  router.post(ORDERS_PATH, ...steps, write, log, (ctx) => createOrder(deps, ctx))
  router.get(ORDERS_PATH, ...steps, read, log, takeNoBody, (ctx) => listOrders(deps, ctx))
  router.get(item, ...steps, read, log, takeNoBody, (ctx) => getOrder(deps, ctx))
  router.put(item, ...steps, write, log, (ctx) => putOrder(deps, ctx))
  router.patch(item, ...steps, write, log, (ctx) => patchOrder(deps, ctx))
  router.delete(item, ...steps, remove, log, takeNoBody, (ctx) => deleteOrder(deps, ctx))
  return router
}

function authenticate({ tokens: holders, clock, failedLogins }: OrderRoutesDeps): Step {
  return (ctx, next) => {
    try {
      const { name, grant } = holderOf(ctx.req.headers.authorization, { holders, now: clock.now() })
      ctx.state.principal = name
      ctx.state.grant = grant
    } catch (error) {
      throw error instanceof AppError ? failedLogins.refuse(ctx.req, error) : error
    }
    return next()
  }
}

function demand(scope: Scope): Step {
  return (ctx, next) => {
    if (ctx.state.grant.scopes.has(scope)) return next()
    const headers = { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${scope}"` }
    throw scopeMissing({ scope }, { headers, message: `The token does not have the scope ${scope}` })
  }
}

/** Logs one line for each successful request, with its principal. The error responder logs the others. */
function logAnswered({ logger }: OrderRoutesDeps): Step {
  return async (ctx, next) => {
    const startedAt = performance.now()
    await next()
    const { requestId, clientRequestId, principal, orderId } = ctx.state
    const { method, status } = ctx
    const ms = Math.round(performance.now() - startedAt)
    const route = resourceAt(ctx.path)?.template
    logger.info({ requestId, clientRequestId, principal, method, route, status, orderId, ms }, 'api.called')
  }
}
