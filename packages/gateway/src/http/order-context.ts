import type { FulfilmentRouter } from '@oncehook/fulfilment/router'
import type { inferRouterInputs, inferRouterOutputs } from '@trpc/server'
import type { Context } from 'koa'
import type { FulfilmentClient } from '../dispatch/fulfilment-client.ts'
import type { ApiGrant } from '../token-holders.ts'
import { returnPreference } from './prefer.ts'
import type { RequestState } from './request-context.ts'

/** What the routes of `/api/orders` ask of fulfilment, and how large a body may be. */
export interface OrderDeps {
  readonly fulfilment: FulfilmentClient
  readonly maxBodyBytes: number
  /** Takes note of a change for the audit; never throws. */
  readonly recordChange: (change: OrderChange) => void
}

/** A change of an order: who made it, and what it led to. */
export interface OrderChange {
  readonly action: 'orders.create' | 'orders.put' | 'orders.patch' | 'orders.delete'
  readonly principal: string
  readonly orderId: string
  readonly requestId: string
  /** The version that the order has now; null after its end. */
  readonly version: number | null
}

/** What an authenticated request carries with it. */
export interface OrderState extends RequestState {
  principal: string
  /** What the token of the principal allows. */
  grant: ApiGrant
  /** The order that the answer is about. */
  orderId?: string
}

/** The Koa context of an authenticated request. */
export type OrderContext = Context & { state: OrderState }

/** An order as fulfilment shows it. */
export type Order = inferRouterOutputs<FulfilmentRouter>['orders']['get']

/** The inputs of the procedures behind the routes. */
export type OrderInputs = inferRouterInputs<FulfilmentRouter>['orders']

/** The path of all orders. */
export const ORDERS_PATH = '/api/orders'

/**
 * No cache may keep what is personal, and none may recode the body: that would weaken the tag, and every later If-Match
 * fails.
 */
export const CACHE_CONTROL = 'no-store, no-transform'

/**
 * Answers with an order and its tag; a `Prefer: return=minimal` leaves the representation out (RFC 7240 section 4.2). The
 * answer to a write is the order as it is now, not as it was sent: Content-Location says so (RFC 9110 section 8.7).
 */
export function sendOrder(ctx: OrderContext, status: 200 | 201, order: Order): void {
  ctx.state.orderId = order.id
  ctx.set({ ETag: `"${order.version}"`, 'Cache-Control': CACHE_CONTROL })
  const isRead = ctx.method === 'GET' || ctx.method === 'HEAD'
  const preference = isRead ? null : returnPreference(ctx.req.headers.prefer)
  if (preference !== null) ctx.set('Preference-Applied', `return=${preference}`)
  const isEmpty = status === 201 && preference === 'minimal'
  if (!isRead && !isEmpty) ctx.set('Content-Location', `${ORDERS_PATH}/${order.id}`)
  if (preference !== 'minimal') {
    ctx.status = status
    ctx.body = order
  } else if (status === 200) {
    ctx.status = 204
  } else {
    ctx.status = 201
    ctx.set('Content-Length', '0')
    ctx.body = ''
    ctx.remove('Content-Type')
  }
}

/** Takes note for the audit of what a request has changed. */
export function recordChange(
  { deps, ctx }: { readonly deps: OrderDeps; readonly ctx: OrderContext },
  action: OrderChange['action'],
  { id: orderId, version }: { readonly id: string; readonly version: number | null },
): void {
  const { principal, requestId } = ctx.state
  deps.recordChange({ action, principal, orderId, requestId, version })
}

/** What a call carries along: the id and the principal for the records of the other side, and the end of the wait for it. */
export function trace(ctx: OrderContext): { context: { requestId: string; principal: string }; signal: AbortSignal } {
  const { requestId, principal, endsAt } = ctx.state
  const leftMs = Math.max(0, Math.ceil(endsAt - performance.now()))
  return { context: { requestId, principal }, signal: AbortSignal.timeout(leftMs) }
}

/**
 * Whose orders a call may touch; empty for a token without `own`. It is part of the input, so that a release of fulfilment
 * that does not know it refuses the call.
 */
export function ownerOf({ state }: OrderContext): { owner?: string } {
  return state.grant.own ? { owner: state.principal } : {}
}
