import { z } from 'zod'
import { ask } from '../http/order-requests.ts'
import { procedure } from './operator-trpc.ts'

/** `receipts.list`: receipts that fulfilment owes, has parked or has sent. */
export const listReceiptsProcedure = procedure
  .input(
    z
      .strictObject({
        orderId: z.string().min(1).max(128).optional(),
        state: z.enum(['owed', 'sending', 'sent', 'parked']).optional(),
        limit: z.int().min(1).max(100).default(20),
        after: z.string().max(1_024).optional(),
      })
      .prefault({}),
  )
  .query(({ ctx, input }) => ask(ctx.fulfilment.receipts.list.query(input, { context: { requestId: ctx.requestId } })))

/** `receipts.release`: a parked receipt is to be sent after all; the operator answers for a second copy. */
export const releaseReceiptProcedure = procedure
  .input(z.strictObject({ key: z.string().min(1).max(255), reason: z.string().trim().min(3).max(200) }))
  .mutation(async ({ ctx, input: { key, reason } }) => {
    const details = { key }
    const released = await ask(
      ctx.fulfilment.receipts.release.mutate({ key }, { context: { requestId: ctx.requestId } }),
    )
    await ctx.audit.record({ by: ctx.operator, action: 'receipts.release', reason, details })
    return released
  })
