import { z } from 'zod'
import { callFulfilment } from '../http/fulfilment-client.ts'
import { inputText, reasonSchema } from './input-text.ts'
import { changingProcedure, procedure, recordFirst } from './operator-trpc.ts'

/** `receipts.list`: receipts that fulfilment owes, has parked or has sent. */
export const listReceiptsProcedure = procedure
  .input(
    z
      .strictObject({
        orderId: inputText(128).optional(),
        state: z.enum(['owed', 'sending', 'sent', 'parked']).optional(),
        limit: z.int().min(1).max(100).default(20),
        after: inputText(1_024).optional(),
      })
      .prefault({}),
  )
  .query(({ ctx, input }) =>
    callFulfilment(ctx.fulfilment.receipts.list.query(input, { context: { requestId: ctx.requestId } })),
  )

/** `receipts.release`: a parked receipt is sent after all. The operator is responsible for a second copy. */
export const releaseReceiptProcedure = changingProcedure
  .input(z.strictObject({ key: inputText(255), reason: reasonSchema }))
  .mutation(async ({ ctx, input: { key, reason } }) => {
    const context = { requestId: ctx.requestId }
    const released = await recordFirst(ctx, { action: 'receipts.release', reason, details: { key } }, () =>
      callFulfilment(ctx.fulfilment.receipts.release.mutate({ key }, { context })),
    )
    ctx.logger.info({ ...context, by: ctx.operator, key }, 'receipt.released')
    return released
  })

// The command line waits for 15 s.
const ALL_MS = 8_000

/**
 * `receipts.releaseAll`: every parked receipt is sent after all, by the rules of a single one. A dry run only counts them. The
 * audit log has one entry with their number. After 8 s a call stops: `next` then says where the next one continues.
 */
export const releaseAllReceiptsProcedure = changingProcedure
  .input(
    z.strictObject({
      reason: reasonSchema,
      dryRun: z.boolean().default(false),
      after: inputText(128).nullable().default(null),
    }),
  )
  .mutation(async ({ ctx, input: { reason, dryRun, after } }) => {
    const part = (request: { after: string | null; dryRun: boolean }) =>
      callFulfilment(ctx.fulfilment.receipts.releaseAll.mutate(request, { context: { requestId: ctx.requestId } }))
    const { receipts: matched } = await part({ after, dryRun: true })
    if (dryRun || matched === 0) return { matched, released: 0, next: null }
    const details = { matched, ...(after === null ? {} : { after }) }
    const { released, next } = await recordFirst(ctx, { action: 'receipts.release-all', reason, details }, async () => {
      const endsAt = ctx.monotonicMs() + ALL_MS
      let sum = 0
      for (let position = after; ; ) {
        const done = await part({ after: position, dryRun: false })
        sum += done.receipts
        position = done.next
        if (position === null || ctx.monotonicMs() > endsAt) return { released: sum, next: position }
      }
    })
    ctx.logger.info({ requestId: ctx.requestId, by: ctx.operator, released }, 'receipts.released')
    return { matched, released, next }
  })
