import { z } from 'zod'
import { ORDER_CURSOR } from './list-orders.ts'
import { ORDER_ID, type Order, orderContentSchema } from './order.ts'

export const orderIdSchema = z.string().regex(ORDER_ID, { error: 'is not the id of an order' })

export const ownerSchema = z.string().min(1).max(64).optional()

const statusSchema = z.enum(['pending', 'payment_failed', 'paid'])

export const listRequestSchema = z.strictObject({
  limit: z.int().min(1).max(100).default(20),
  after: z.string().regex(ORDER_CURSOR, { error: 'is not a valid cursor' }).optional(),
  status: statusSchema.optional(),
  owner: ownerSchema,
})

export const orderSchema: z.ZodType<Order> = orderContentSchema.extend({
  id: orderIdSchema,
  version: z.int().min(1),
  status: statusSchema,
  amountDue: z.int().min(0),
  access: z.enum(['locked', 'unlocked']),
  payment: z
    .strictObject({
      id: z.string().min(1).max(255),
      provider: z.string().min(1).max(255),
      status: z.enum(['succeeded', 'failed']),
      at: z.iso.datetime(),
    })
    .nullable(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
})

export const orderPageSchema = z.strictObject({
  items: z.array(orderSchema).max(100),
  unreadable: z.array(orderIdSchema).max(100).optional(),
  next: z.string().regex(ORDER_CURSOR).nullable(),
})
