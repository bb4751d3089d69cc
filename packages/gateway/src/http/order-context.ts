import type { FulfilmentRouter } from '@oncehook/fulfilment/router'
import { unavailable } from '@oncehook/kernel/error-codes'
import type { AppError } from '@oncehook/kernel/errors'
import type { inferRouterInputs, inferRouterOutputs } from '@trpc/server'
import type { Context } from 'koa'
import type { FulfilmentClient } from '../dispatch/fulfilment-client.ts'
import type { ApiGrant } from '../token-holders.ts'
import { ask } from './order-requests.ts'
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
  /** Null where no id was given and none has been heard of. */
  readonly orderId: string | null
  readonly requestId: string
  /** The version that the order has now; null after its end, and where that is not known. */
  readonly version: number | null
  /** There was no answer: nobody knows whether the change came about. */
  readonly unconfirmed?: true
  /** When the order was made, ISO 8601: by `orders.create` only. */
  readonly madeAt?: string
  /** The change is one of an earlier request, whose answer may have got lost before anybody took note of it. */
  readonly isRepetition?: boolean
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

/** Where a change comes from. */
interface Changing {
  readonly deps: OrderDeps
  readonly ctx: OrderContext
}

/** Takes note for the audit of what a request has changed. */
export function recordChange({ deps, ctx }: Changing, change: Omit<OrderChange, 'principal' | 'requestId'>): void {
  const { principal, requestId } = ctx.state
  deps.recordChange({ ...change, principal, requestId })
}

/**
 * The answer of fulfilment to a change. Where there is none, the audit has that it was asked for: it may have come about.
 * @throws AppError
 */
export async function askForChange<T>(
  changing: Changing,
  what: Pick<OrderChange, 'action' | 'orderId'>,
  call: Promise<T>,
): Promise<T> {
  try {
    return await ask(call)
  } catch (error) {
    if (unavailable.is(error) && mayHaveArrived(error)) {
      recordChange(changing, { ...what, version: null, unconfirmed: true })
    }
    throw error
  }
}

// No connection came about, or the call was refused before anything: nothing has changed.
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
