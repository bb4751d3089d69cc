import { z } from 'zod'
import { orderIdSchema } from '../orders/order-schemas.ts'
import { procedure } from '../trpc.ts'
import { eraseOrders, findErasable, MOST_ORDERS } from './erase-orders.ts'

const customerIdSchema = z.string().min(1).max(255)
const orderIdsSchema = z.array(orderIdSchema).max(MOST_ORDERS)

/** `erasures.find`: orders that hold something of a person, of one customer or out of those named; 100 at most. */
export const findErasableProcedure = procedure
  .input(z.union([z.strictObject({ customerId: customerIdSchema }), z.strictObject({ orderIds: orderIdsSchema })]))
  .query(({ ctx, input }) => findErasable(ctx.useCases.erasures, input))

/** `erasures.erase`: the orders are deleted and name nobody, or, with a customer, not that one; keys and hashes stay. */
export const eraseOrdersProcedure = procedure
  .input(z.strictObject({ orderIds: orderIdsSchema, customerId: customerIdSchema.optional() }))
  .mutation(({ ctx, input }) => eraseOrders(ctx.useCases.erasures, input.orderIds, input.customerId))
