import { toAppError } from '@oncehook/kernel/http/errors'
import { z } from 'zod'
import { callFulfilment } from '../http/fulfilment-client.ts'
import { changingProcedure, procedure } from './operator-trpc.ts'
import { reasonSchema } from './replays/replay-procedures.ts'

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
  .query(({ ctx, input }) =>
    callFulfilment(ctx.fulfilment.receipts.list.query(input, { context: { requestId: ctx.requestId } })),
  )

/** `receipts.release`: a parked receipt is sent after all. The operator is responsible for a second copy. */
export const releaseReceiptProcedure = changingProcedure
  .input(z.strictObject({ key: z.string().min(1).max(255), reason: reasonSchema }))
  .mutation(async ({ ctx, input: { key, reason } }) => {
    // The entry of the audit log comes first. After a crash in between, no receipt is sent without an entry.
    const entry = { by: ctx.operator, action: 'receipts.release', reason } as const
    await ctx.audit.record({ ...entry, details: { key } })
    const call = ctx.fulfilment.receipts.release.mutate({ key }, { context: { requestId: ctx.requestId } })
    const released = await callFulfilment(call).catch(async (error: unknown) => {
      const { code, status } = toAppError(error)
      await ctx.audit.record({ ...entry, details: { key, [status < 500 ? 'refused' : 'unanswered']: code } })
      throw error
    })
    ctx.logger.info({ requestId: ctx.requestId, by: ctx.operator, key }, 'receipt.released')
    return released
  })
