import { z } from 'zod'
import { callFulfilment } from '../../fulfilment/call-fulfilment.ts'
import { changingProcedure, procedure } from '../operator-trpc.ts'
import { reasonSchema } from '../replays/replay-procedures.ts'
import { dryRunPart, rotationPart } from './rotation.ts'

/**
 * `encryption.status`: the keys of both services, and the keys that are missing although something is encrypted with
 * them.
 */
export const encryptionStatusProcedure = procedure.query(async ({ ctx }) => {
  const context = { requestId: ctx.requestId }
  const [gateway, fulfilment] = await Promise.all([
    ctx.keyRegister.status(),
    callFulfilment(ctx.fulfilment.encryption.status.query({}, { context })),
  ])
  return { gateway, fulfilment }
})

/**
 * `encryption.rotate`: encrypts a part of the records of both services with the first key. Call it until `next` is
 * null. The gateway remembers the progress, so that any call continues an interrupted rotation. With `dryRun` nothing
 * is changed, and `position` is the `next` of the previous call.
 */
export const rotateEncryptionProcedure = changingProcedure
  .input(
    z.strictObject({
      reason: reasonSchema,
      dryRun: z.boolean().default(false),
      position: z.string().min(1).max(2_048).optional(),
    }),
  )
  .mutation(({ ctx, input: { reason, dryRun, position } }) =>
    dryRun ? dryRunPart(ctx, position) : rotationPart(ctx, reason),
  )
