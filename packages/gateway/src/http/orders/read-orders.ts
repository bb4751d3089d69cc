import { preconditionFailed } from '@oncehook/kernel/http/error-codes'
import { formatEntityTag, readPreconditions } from '@oncehook/kernel/http/preconditions'
import { callFulfilment } from '../../fulfilment/call-fulfilment.ts'
import {
  CACHE_CONTROL,
  type OrderContext,
  type OrderDeps,
  type OrderInputs,
  ownerOf,
  sendOrder,
  trace,
} from './order-context.ts'
import { conditionsOf, listInputOf, orderIdOf } from './order-requests.ts'

/** `GET /api/orders`: a page of orders. */
export async function listOrders({ fulfilment }: OrderDeps, ctx: OrderContext): Promise<void> {
  const page = await callFulfilment(
    fulfilment.orders.list.query({ ...listInputOf(ctx), ...ownerOf(ctx) } as OrderInputs['list'], trace(ctx)),
  )
  ctx.set('Cache-Control', CACHE_CONTROL)
  ctx.body = page
}

/** `GET /api/orders/<id>`: the order, or 304 if the caller has it. If-Match is checked first (RFC 9110 section 13.2.2). */
export async function getOrder({ fulfilment }: OrderDeps, ctx: OrderContext): Promise<void> {
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
