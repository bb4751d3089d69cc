import type { FulfilmentRouter } from '@oncehook/fulfilment/router'
import { unavailable } from '@oncehook/kernel/http/error-codes'
import type { AppError } from '@oncehook/kernel/http/errors'
import type { inferRouterInputs, inferRouterOutputs } from '@trpc/server'
import type { Context } from 'koa'
import { callFulfilment } from '../../fulfilment/call-fulfilment.ts'
import type { FulfilmentClient } from '../../fulfilment/fulfilment-client.ts'
import type { ApiGrant } from '../../token-holders.ts'
import type { RequestState } from '../request-context.ts'
import { returnPreference } from './prefer.ts'

/** The dependencies of the handlers of `/api/orders`, and the limit of a body in bytes. */
export interface OrderDeps {
  readonly fulfilment: FulfilmentClient
  readonly maxBodyBytes: number
  /** Records a change in the audit log; never throws. */
  readonly recordChange: (change: OrderChange) => void
}

/** A change of an order: its author, and its result. */
export interface OrderChange {
  readonly action: 'orders.create' | 'orders.put' | 'orders.patch' | 'orders.delete'
  readonly principal: string
  /** Null if no id was given and none was returned. */
  readonly orderId: string | null
  readonly requestId: string
  /** The version of the order after the change; null if it is deleted, or if the version is unknown. */
  readonly version: number | null
  /** There was no answer: nobody knows whether the change happened. */
  readonly unconfirmed?: true
  /** When the order was created, in ISO 8601. Only for `orders.create`. */
  readonly madeAt?: string
  /** An earlier request made the change. Its answer may have been lost before the change was recorded. */
  readonly isRepetition?: boolean
}

/** The state of an authenticated request. */
export interface OrderState extends RequestState {
  principal: string
  /** The rights of the principal's token. */
  grant: ApiGrant
  /** The id of the order in the answer. */
  orderId?: string
}

/** The Koa context of an authenticated request. */
export type OrderContext = Context & { state: OrderState }

/** An order as fulfilment returns it. */
export type Order = inferRouterOutputs<FulfilmentRouter>['orders']['get']

/** The inputs of the procedures behind the routes. */
export type OrderInputs = inferRouterInputs<FulfilmentRouter>['orders']

/** The path of all orders. */
export const ORDERS_PATH = '/api/orders'

/**
 * Caches must not store personal data, and must not recode the body: that would weaken the tag, and every later If-Match
 * would fail.
 */
export const CACHE_CONTROL = 'no-store, no-transform'

/**
 * Answers with an order and its tag. `Prefer: return=minimal` omits the representation (RFC 7240 section 4.2). The answer to
 * a write is the order as it is now, not as it was sent. Content-Location indicates this (RFC 9110 section 8.7).
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

/** The origin of a change. */
interface Changing {
  readonly deps: OrderDeps
  readonly ctx: OrderContext
}

/** Records the change of a request in the audit log. */
export function recordChange({ deps, ctx }: Changing, change: Omit<OrderChange, 'principal' | 'requestId'>): void {
  const { principal, requestId } = ctx.state
  deps.recordChange({ ...change, principal, requestId })
}

/**
 * Waits for fulfilment's answer to a change. If there is none, the audit log records the request: the change may have
 * happened.
 * @throws AppError
 */
export async function askForChange<T>(
  changing: Changing,
  what: Pick<OrderChange, 'action' | 'orderId'>,
  call: Promise<T>,
): Promise<T> {
  try {
    return await callFulfilment(call)
  } catch (error) {
    if (unavailable.is(error) && mayHaveArrived(error)) {
      recordChange(changing, { ...what, version: null, unconfirmed: true })
    }
    throw error
  }
}

// There was no connection, or the call was rejected before it did anything: nothing has changed.
const NOT_CONNECTED = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]
const REFUSED: readonly unknown[] = [401, 403, 408, 429]

function mayHaveArrived({ details, cause }: AppError): boolean {
  return !REFUSED.includes(details.status) && !codesOf(cause).some((code) => NOT_CONNECTED.includes(code))
}

function codesOf(thrown: unknown): string[] {
  if (!(thrown instanceof Error)) return []
  const own = 'code' in thrown && typeof thrown.code === 'string' ? [thrown.code] : []
  return [...own, ...codesOf(thrown.cause)]
}

/** The options of a call: the request id and the principal for the records of fulfilment, and the end of the wait. */
export function trace(ctx: OrderContext): { context: { requestId: string; principal: string }; signal: AbortSignal } {
  const { requestId, principal, endsAt } = ctx.state
  const leftMs = Math.max(0, Math.ceil(endsAt - performance.now()))
  return { context: { requestId, principal }, signal: AbortSignal.timeout(leftMs) }
}

/**
 * The owner whose orders a call may use; empty for a token without `own`. It is part of the input, so that a release of
 * fulfilment that does not know it rejects the call.
 */
export function ownerOf({ state }: OrderContext): { owner?: string } {
  return state.grant.own ? { owner: state.principal } : {}
}
