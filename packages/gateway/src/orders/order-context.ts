import type { FulfilmentRouter } from '@oncehook/fulfilment/router'
import {
  invalidBody,
  invalidRequest,
  notFound,
  unavailable,
  unsupportedMediaType,
} from '@oncehook/kernel/http/error-codes'
import type { AppError } from '@oncehook/kernel/http/errors'
import { refuseEncodedBody } from '@oncehook/kernel/http/server/raw-body'
import { parseStrictJson } from '@oncehook/kernel/http/strict-json'
import type { inferRouterInputs, inferRouterOutputs } from '@trpc/server'
import type { Context } from 'koa'
import type { ApiGrant } from '../http/authentication.ts'
import { callFulfilment, type FulfilmentClient } from '../http/fulfilment-client.ts'
import { isJsonInUtf8, mediaTypeOf, refuseUnwanted } from '../http/media-type.ts'
import { type RequestState, readBodyBy } from '../http/request-context.ts'
import orderSchemas from './openapi/order-schemas.json' with { type: 'json' }

export interface OrderDeps {
  readonly fulfilment: FulfilmentClient
  readonly maxBodyBytes: number
  /** Records a change in the audit log; never throws. */
  readonly recordChange: (change: OrderChange) => void
}

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

export interface OrderState extends RequestState {
  principal: string
  grant: ApiGrant
  orderId?: string
}

export type OrderContext = Context & { state: OrderState }

type Order = inferRouterOutputs<FulfilmentRouter>['orders']['get']

export type OrderInputs = inferRouterInputs<FulfilmentRouter>['orders']

export const ORDERS_PATH = '/api/orders'

/**
 * Caches must not store personal data, and must not recode the body: that would weaken the tag, and every later If-Match
 * would fail.
 */
export const CACHE_CONTROL = 'no-store, no-transform'

/**
 * Answers with an order and its tag. The answer to a write is the order as it is now, not as it was sent. Content-Location
 * indicates this (RFC 9110 section 8.7).
 */
export function sendOrder(ctx: OrderContext, status: 200 | 201, order: Order): void {
  ctx.state.orderId = order.id
  ctx.set({ ETag: `"${order.version}"`, 'Cache-Control': CACHE_CONTROL })
  const isRead = ctx.method === 'GET' || ctx.method === 'HEAD'
  if (!isRead) ctx.set('Content-Location', `${ORDERS_PATH}/${order.id}`)
  ctx.status = status
  ctx.body = order
}

interface Changing {
  readonly deps: OrderDeps
  readonly ctx: OrderContext
}

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

/** The form of an order id, as the OpenAPI document shows it. */
export const ORDER_ID = new RegExp(orderSchemas.schemas.OrderId.pattern)

/** @throws invalidRequest for an id that no order can have, notFound if the path has none */
export function orderIdOf(ctx: Context): string {
  const id: unknown = (ctx as { params?: { id?: unknown } }).params?.id
  if (typeof id !== 'string') throw notFound()
  if (ORDER_ID.test(id)) return id
  throw invalidRequest(
    {},
    { message: 'An order id must have 1 to 128 characters of A-Z, a-z, 0-9 and . _ ~ -, and not only one or two dots' },
  )
}

const MAX_CONDITION = 4_096

/**
 * The preconditions of a request, as sent; fulfilment parses and checks them (RFC 9110 section 13.1).
 * @throws invalidRequest if one is longer than fulfilment accepts
 */
export function conditionsOf(ctx: Context): { ifMatch?: string; ifNoneMatch?: string } {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = ctx.req.headers
  if (Math.max(ifMatch?.length ?? 0, ifNoneMatch?.length ?? 0) > MAX_CONDITION) {
    throw invalidRequest({}, { message: `If-Match and If-None-Match must have at most ${MAX_CONDITION} characters` })
  }
  return { ...(ifMatch === undefined ? {} : { ifMatch }), ...(ifNoneMatch === undefined ? {} : { ifNoneMatch }) }
}

const LIST_MEMBERS = new Set(['limit', 'after', 'status'])

/** @throws invalidRequest */
export function listInputOf(ctx: Context): { limit: number; after?: string; status?: string } {
  const { searchParams } = new URL(ctx.req.url ?? '', 'http://localhost')
  const names = [...searchParams.keys()]
  if (names.some((name) => !LIST_MEMBERS.has(name)) || new Set(names).size < names.length) {
    throw invalidRequest(
      {},
      { message: 'Unknown or repeated query parameter: only limit, after and status are allowed' },
    )
  }
  const limit = searchParams.get('limit') ?? '20'
  if (!/^(?:[1-9]\d?|100)$/.test(limit))
    throw invalidRequest({}, { message: 'The parameter limit must be an integer from 1 to 100' })
  const after = searchParams.get('after')
  const status = searchParams.get('status')
  return { limit: Number(limit), ...(after === null ? {} : { after }), ...(status === null ? {} : { status }) }
}

export interface BodyRules {
  readonly maxBytes: number
  /** The accepted media types in lower case. Default: JSON and every `+json` type. */
  readonly types?: readonly string[]
  /** The headers of the answer to a rejected type. */
  readonly refusalHeaders: Readonly<Record<string, string>>
}

/**
 * Rejects a body that is not JSON in UTF-8, then a client that does not accept JSON, before a byte of the body is read.
 * @throws unsupportedMediaType, notAcceptable
 */
export function refuseMediaTypes(ctx: Context, { types, refusalHeaders }: BodyRules): void {
  refuseEncodedBody(ctx.req)
  const type = ctx.req.headers['content-type']
  const isTaken = type !== undefined && isJsonInUtf8(type) && (types === undefined || types.includes(mediaTypeOf(type)))
  if (!isTaken) throw unsupportedMediaType({}, { headers: { ...refusalHeaders, Connection: 'close' } })
  refuseUnwanted(ctx)
}

/** @throws payloadTooLarge, badRequest, requestTimeout */
export function readBytes(ctx: OrderContext, { maxBytes }: BodyRules): Promise<Buffer> {
  return readBodyBy(ctx.req, { maxBytes, endsAt: ctx.state.endsAt })
}

/**
 * Reads and discards a body that has no meaning for the method (RFC 9110 sections 9.3.1 and 9.3.5). Announced lengths were
 * already checked against the limit.
 * @throws payloadTooLarge, requestTimeout
 */
export async function discardBody({ req, state }: OrderContext, maxBytes: number): Promise<void> {
  if (req.headers['transfer-encoding'] === undefined) return
  await readBodyBy(req, { maxBytes, endsAt: state.endsAt })
}

/**
 * Parses bytes as strict JSON. Numbers that a double cannot represent exactly are rejected, not rounded.
 * @throws invalidBody
 */
export function parseBody(rawBody: Buffer): unknown {
  if (rawBody.length === 0) throw invalidBody({ reason: 'empty' }, { message: 'A JSON body is required' })
  return parseStrictJson(rawBody, { exactNumbers: true })
}
