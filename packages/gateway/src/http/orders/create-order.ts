import { invalidBody, invalidRequest } from '@oncehook/kernel/http/error-codes'
import { AppError } from '@oncehook/kernel/http/errors'
import { callFulfilment } from '../../fulfilment/call-fulfilment.ts'
import { mediaTypeOf } from '../../receive/media-type.ts'
import { fingerprintOf, idempotencyKeyOf, withDocumentation } from './idempotency-key.ts'
import {
  askForChange,
  ORDERS_PATH,
  type OrderContext,
  type OrderDeps,
  ownerOf,
  recordChange,
  sendOrder,
  trace,
} from './order-context.ts'
import { parseBody, readBytes, refuseMediaTypes } from './read-json-body.ts'

/** `POST /api/orders`: creates an order, once for each Idempotency-Key of a principal. */
export async function createOrder(deps: OrderDeps, ctx: OrderContext): Promise<void> {
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
    throw explain(thrown, body)
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

const KEY_CODES = new Set(['idempotency_key_reused', 'idempotency_in_progress'])

function explain(thrown: unknown, body: Body): unknown {
  if (invalidRequest.is(thrown) && 'invalid' in body) return body.invalid
  return thrown instanceof AppError && KEY_CODES.has(thrown.code) ? withDocumentation(thrown) : thrown
}
