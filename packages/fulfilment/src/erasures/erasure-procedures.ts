import { z } from 'zod'
import { orderIdSchema } from '../orders/order-schemas.ts'
import { procedure } from '../trpc.ts'
import { eraseOrders, findErasable, MOST_ORDERS } from './erase-orders.ts'

const customerIdSchema = z.string().min(1).max(255)
const orderIdsSchema = z.array(orderIdSchema).max(MOST_ORDERS)

/** `erasures.find`: up to 100 orders that hold personal data, of one customer or from a list of ids. */
export const findErasableProcedure = procedure
  .input(z.union([z.strictObject({ customerId: customerIdSchema }), z.strictObject({ orderIds: orderIdsSchema })]))
  .query(({ ctx, input }) => findErasable(ctx.useCases.erasures, input))

/**
 * `erasures.erase`: deletes the orders and removes all customers from them, or one customer only; keys and hashes are
 * kept.
 */
export const eraseOrdersProcedure = procedure
  .input(z.strictObject({ orderIds: orderIdsSchema, customerId: customerIdSchema.optional() }))
  .mutation(({ ctx, input }) => eraseOrders(ctx.useCases.erasures, input.orderIds, input.customerId))
