import { z } from 'zod'
import { ORDER_ID } from '../orders/order.ts'
import { procedure } from '../trpc.ts'
import { listReceipts } from './list-receipts.ts'
import { releaseReceipt } from './release-receipt.ts'

/** `receipts.list`: returns a page of receipts, optionally of one order or in one state. */
export const listReceiptsProcedure = procedure
  .input(
    z.strictObject({
      orderId: z.string().regex(ORDER_ID).optional(),
      state: z.enum(['owed', 'sending', 'sent', 'parked']).optional(),
      limit: z.int().min(1).max(100).default(20),
      after: z.string().max(1_024).optional(),
    }),
  )
  .query(({ ctx, input }) => listReceipts(ctx.useCases.orders.orders, input))

/** `receipts.release`: queues a parked receipt again. */
export const releaseReceiptProcedure = procedure
  .input(z.strictObject({ key: z.string().min(1).max(255) }))
  .mutation(({ ctx, input }) => releaseReceipt(ctx.useCases.orders.orders, input.key))
