import { invalidRequest } from '@oncehook/kernel/error-codes'
import { z } from 'zod'
import { orderNotFound } from '../errors.ts'
import { type Context, procedure } from '../trpc.ts'
import { createOrder } from './create-order.ts'
import { deleteOrder } from './delete-order.ts'
import { listOrders } from './list-orders.ts'
import type { Order } from './order.ts'
import { listRequestSchema, orderIdSchema, ownerSchema } from './order-schemas.ts'
import { patchOrder } from './patch-order.ts'
import { putOrder } from './put-order.ts'
import { demandReadable } from './stored/is-readable.ts'
import { isForeign, isLive, toOrder } from './stored/order-document.ts'
import { openOrder } from './stored/order-encryption.ts'
import { readOrder } from './stored/order-store.ts'

const conditionSchema = z.string().max(4_096).optional()
/** What a write of an order may depend on. */
const conditions = { ifMatch: conditionSchema, ifNoneMatch: conditionSchema, owner: ownerSchema }
const keyText = z.string().min(1).max(255)

/** `orders.get`: returns one order, NOT_FOUND, or CONFLICT if it is damaged. */
export const getOrderProcedure = procedure
  .input(z.strictObject({ id: orderIdSchema, owner: ownerSchema }))
  .query(async ({ ctx, input }) => {
    const found = await readOrder(ctx.useCases.orders.orders, input.id)
    if (!isLive(found) || isForeign(found, input.owner)) throw orderNotFound()
    demandReadable(found)
    return tagged(ctx, toOrder(openOrder(found, ctx.useCases.orders.encryption)))
  })

/** `orders.list`: returns a page of orders, newest first. */
export const listOrdersProcedure = procedure
  .input(listRequestSchema)
  .query(({ ctx, input }) => listOrders(ctx.useCases.orders, input))

/** `orders.create`: creates an order with a generated id, once per idempotency key. */
export const createOrderProcedure = procedure
  .input(
    z.strictObject({
      order: z.unknown(),
      idempotency: z.strictObject({ principal: keyText, key: keyText, fingerprint: keyText }).optional(),
      owner: ownerSchema,
    }),
  )
  .mutation(async ({ ctx, input }) => {
    const created = await createOrder(ctx.useCases.orders, { ...input, principal: ctx.principal })
    tagged(ctx, created.order)
    return created
  })

/** `orders.put`: replaces an order, or creates it under the id given by the caller. */
export const putOrderProcedure = procedure
  .input(z.strictObject({ id: orderIdSchema, order: z.unknown(), ...conditions }))
  .mutation(async ({ ctx, input }) => {
    const result = await putOrder(ctx.useCases.orders, writeOf(ctx, input))
    tagged(ctx, result.order)
    return result
  })

/** `orders.patch`: changes an order by merge patch. The expected version is required. */
export const patchOrderProcedure = procedure
  .input(z.strictObject({ id: orderIdSchema, patch: z.unknown(), ...conditions }))
  .mutation(async ({ ctx, input }) => tagged(ctx, await patchOrder(ctx.useCases.orders, writeOf(ctx, input))))

/** `orders.delete`: deletes an order. Succeeds if the order does not exist. */
export const deleteOrderProcedure = procedure
  .input(z.strictObject({ id: orderIdSchema, ...conditions }))
  .mutation(({ ctx, input }) => deleteOrder(ctx.useCases.orders, writeOf(ctx, input)))

function tagged(ctx: Context, order: Order): Order {
  ctx.answer.version = order.version
  return order
}

/**
 * A write of an order: its input, its caller, and its precondition, from an input property or otherwise from the
 * header.
 */
function writeOf<Input extends { readonly ifMatch?: string | undefined }>(
  { principal, ifMatch }: Context,
  input: Input,
) {
  if (input.ifMatch !== undefined && ifMatch !== undefined && input.ifMatch !== ifMatch) {
    throw invalidRequest({}, { message: 'The If-Match header and the ifMatch property differ' })
  }
  return { ...input, principal, ifMatch: input.ifMatch ?? ifMatch }
}
