import {
  invalidBody,
  invalidRequest,
  preconditionFailed,
  preconditionRequired,
} from '@oncehook/kernel/http/error-codes'
import { AppError } from '@oncehook/kernel/http/errors'
import { formatEntityTag, readPreconditions } from '@oncehook/kernel/http/preconditions'
import { callFulfilment } from '../../fulfilment/call-fulfilment.ts'
import { RESOURCES } from '../resources.ts'
import {
  askForChange,
  type OrderContext,
  type OrderDeps,
  type OrderInputs,
  ownerOf,
  recordChange,
  sendOrder,
  trace,
} from './order-context.ts'
import { conditionsOf, orderIdOf } from './order-requests.ts'
import { type BodyRules, parseBody, readBytes, refuseMediaTypes } from './read-json-body.ts'

/** `PUT /api/orders/<id>`: replaces an order, or creates it under the caller's id. */
export async function putOrder(deps: OrderDeps, ctx: OrderContext): Promise<void> {
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
export async function patchOrder(deps: OrderDeps, ctx: OrderContext): Promise<void> {
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
export async function deleteOrder(deps: OrderDeps, ctx: OrderContext): Promise<void> {
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
