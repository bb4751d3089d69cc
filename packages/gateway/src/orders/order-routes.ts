import Router from '@koa/router'
import {
  invalidBody,
  invalidRequest,
  preconditionFailed,
  preconditionRequired,
} from '@oncehook/kernel/http/error-codes'
import { AppError } from '@oncehook/kernel/http/errors'
import { formatEntityTag, readPreconditions } from '@oncehook/kernel/http/preconditions'
import type { Logger } from '@oncehook/kernel/log/logger'
import type { Clock } from '@oncehook/kernel/time/clock'
import { scopeMissing } from '../errors.ts'
import { type ApiGrant, type FailedLogins, holderOf, type Scope, type TokenHolders } from '../http/authentication.ts'
import { callFulfilment } from '../http/fulfilment-client.ts'
import { mediaTypeOf, refuseUnwanted } from '../http/media-type.ts'
import type { RateLimit } from '../http/rate-limit.ts'
import { RESOURCES, resourceAt } from '../http/resources.ts'
import { fingerprintOf, idempotencyKeyOf } from './idempotency-key.ts'
import {
  askForChange,
  type BodyRules,
  CACHE_CONTROL,
  conditionsOf,
  discardBody,
  listInputOf,
  ORDERS_PATH,
  type OrderContext,
  type OrderDeps,
  type OrderInputs,
  type OrderState,
  orderIdOf,
  ownerOf,
  parseBody,
  readBytes,
  recordChange,
  refuseMediaTypes,
  sendOrder,
  trace,
} from './order-context.ts'

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

/** `GET /api/orders`: a page of orders. */
async function listOrders({ fulfilment }: OrderDeps, ctx: OrderContext): Promise<void> {
  const page = await callFulfilment(
    fulfilment.orders.list.query({ ...listInputOf(ctx), ...ownerOf(ctx) } as OrderInputs['list'], trace(ctx)),
  )
  ctx.set('Cache-Control', CACHE_CONTROL)
  ctx.body = page
}

/** `GET /api/orders/<id>`: the order, or 304 if the caller has it. If-Match is checked first (RFC 9110 section 13.2.2). */
async function getOrder({ fulfilment }: OrderDeps, ctx: OrderContext): Promise<void> {
  const check = readPreconditions(conditionsOf(ctx))
  const order = await callFulfilment(fulfilment.orders.get.query({ id: orderIdOf(ctx), ...ownerOf(ctx) }, trace(ctx)))
  const failed = check(order.version)
  if (failed === 'If-Match') throw preconditionFailed({}, { headers: { ETag: formatEntityTag(order.version) } })
  sendOrder(ctx, 200, order)
  if (failed === 'If-None-Match') {
    ctx.status = 304
    ctx.body = null
  }
}

/** `POST /api/orders`: creates an order, once for each Idempotency-Key of a principal. */
async function createOrder(deps: OrderDeps, ctx: OrderContext): Promise<void> {
  const { fulfilment, maxBodyBytes } = deps
  const rules = { maxBytes: maxBodyBytes, refusalHeaders: { Accept: 'application/json' } }
  refuseMediaTypes(ctx, rules)
  const key = idempotencyKeyOf(ctx.req.rawHeaders)
  const body = readable(await readBytes(ctx, rules))
  if (key === null && 'invalid' in body) throw body.invalid
  const idempotency = key === null ? {} : { idempotency: { key, ...requestedBy(ctx, body) } }
  const input = { order: 'json' in body ? body.json : null, ...idempotency, ...ownerOf(ctx) }
  const what = { action: 'orders.create', orderId: null } as const
  const call = fulfilment.orders.create.mutate(input, trace(ctx))
  // A body that is no JSON makes no order, whatever becomes of the call.
  const answer = 'invalid' in body ? callFulfilment(call) : askForChange({ deps, ctx }, what, call)
  const { order, replayed } = await answer.catch((thrown: unknown) => {
    throw invalidRequest.is(thrown) && 'invalid' in body ? body.invalid : thrown
  })
  if (replayed) ctx.set('Idempotent-Replayed', 'true')
  const { id: orderId, version, createdAt: madeAt } = order
  recordChange({ deps, ctx }, { ...what, orderId, version, madeAt, isRepetition: replayed })
  ctx.set('Location', `${ORDERS_PATH}/${order.id}`)
  sendOrder(ctx, 201, order)
}

type Body = { readonly raw: Buffer } & ({ readonly json: unknown } | { readonly invalid: AppError })

/** Parses a body. It does not throw for invalid JSON: if the key was used before, the caller must get that error instead. */
function readable(rawBody: Buffer): Body {
  try {
    return { raw: rawBody, json: parseBody(rawBody) }
  } catch (error) {
    if (invalidBody.is(error)) return { raw: rawBody, invalid: error }
    throw error
  }
}

function requestedBy(ctx: OrderContext, body: Body): { principal: string; fingerprint: string } {
  const { method, url: target = '' } = ctx.req
  const mediaType = mediaTypeOf(ctx.req.headers['content-type'] ?? '')
  return {
    principal: ctx.state.principal,
    fingerprint: fingerprintOf({ method: method ?? '', target, mediaType, body }),
  }
}

/** `PUT /api/orders/<id>`: replaces an order, or creates it under the caller's id. */
async function putOrder(deps: OrderDeps, ctx: OrderContext): Promise<void> {
  const id = orderIdOf(ctx)
  const rules = { maxBytes: deps.maxBodyBytes, refusalHeaders: { Accept: 'application/json' } }
  refuseMediaTypes(ctx, rules)
  if (ctx.req.headers['content-range'] !== undefined) {
    throw invalidRequest({}, { message: 'Partial PUT is not supported: remove Content-Range' })
  }
  const order = await readAfterConditions(deps, ctx, rules)
  const what = { action: 'orders.put', orderId: id } as const
  const call = deps.fulfilment.orders.put.mutate({ id, order, ...conditionsOf(ctx), ...ownerOf(ctx) }, trace(ctx))
  const put = await askForChange({ deps, ctx }, what, call)
  recordChange({ deps, ctx }, { ...what, version: put.order.version })
  sendOrder(ctx, put.created ? 201 : 200, put.order)
}

const PATCH_TYPES = ['application/merge-patch+json', 'application/json']
const ACCEPT_PATCH = RESOURCES.find(({ name }) => name === 'order')?.acceptPatch ?? ''

/** `PATCH /api/orders/<id>`: changes an order by merge patch (RFC 7396); `If-Match` is required. */
async function patchOrder(deps: OrderDeps, ctx: OrderContext): Promise<void> {
  const id = orderIdOf(ctx)
  const refusalHeaders = { 'Accept-Patch': ACCEPT_PATCH, Accept: ACCEPT_PATCH }
  const rules = { maxBytes: deps.maxBodyBytes, types: PATCH_TYPES, refusalHeaders }
  refuseMediaTypes(ctx, rules)
  const patch = await readAfterConditions(deps, ctx, rules)
  const input: OrderInputs['patch'] = { id, patch, ...conditionsOf(ctx), ...ownerOf(ctx) }
  const what = { action: 'orders.patch', orderId: id } as const
  const order = await askForChange({ deps, ctx }, what, deps.fulfilment.orders.patch.mutate(input, trace(ctx)))
  recordChange({ deps, ctx }, { ...what, version: order.version })
  sendOrder(ctx, 200, order)
}

/** `DELETE /api/orders/<id>`: 204 whether or not the order existed. */
async function deleteOrder(deps: OrderDeps, ctx: OrderContext): Promise<void> {
  const id = orderIdOf(ctx)
  ctx.state.orderId = id
  const what = { action: 'orders.delete', orderId: id } as const
  const call = deps.fulfilment.orders.delete.mutate({ id, ...conditionsOf(ctx), ...ownerOf(ctx) }, trace(ctx))
  const { deleted } = await askForChange({ deps, ctx }, what, call)
  if (deleted) recordChange({ deps, ctx }, { ...what, version: null })
  ctx.status = 204
}

/**
 * Reads a body. If it cannot be parsed, the preconditions are still checked first (RFC 9110 section 13.2.1). A body that can
 * be parsed goes to fulfilment, which checks in the same order.
 */
async function readAfterConditions(deps: OrderDeps, ctx: OrderContext, rules: BodyRules): Promise<unknown> {
  const rawBody = await readBytes(ctx, rules)
  try {
    return parseBody(rawBody)
  } catch (error) {
    if (invalidBody.is(error)) await checkConditions(deps, ctx)
    throw error
  }
}

async function checkConditions({ fulfilment }: OrderDeps, ctx: OrderContext): Promise<void> {
  const conditions = conditionsOf(ctx)
  if (ctx.method === 'PUT' && Object.keys(conditions).length === 0) return
  const check = readPreconditions(conditions)
  const version = await currentVersion(
    fulfilment.orders.get.query({ id: orderIdOf(ctx), ...ownerOf(ctx) }, trace(ctx)),
    ctx.method,
  )
  if (ctx.method === 'PATCH' && conditions.ifMatch === undefined) throw preconditionRequired()
  if (check(version) === null) return
  throw preconditionFailed({}, version === null ? {} : { headers: { ETag: formatEntityTag(version) } })
}

/** If the order is missing, a PATCH fails with 404. For a PUT the version is null, which matches no tag. */
async function currentVersion(reading: Promise<{ version: number }>, method: string): Promise<number | null> {
  try {
    return (await callFulfilment(reading)).version
  } catch (error) {
    if (method === 'PUT' && error instanceof AppError && error.status === 404) return null
    throw error
  }
}
