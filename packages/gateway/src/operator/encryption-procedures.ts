import { z } from 'zod'
import { ask } from '../http/order-requests.ts'
import { changingProcedure, procedure } from './operator-trpc.ts'
import { reasonSchema } from './replay-procedures.ts'
import { dryRunPart, rotationPart } from './rotation.ts'

/** `encryption.status`: for both services, the keys that they have, and those that something is encrypted by and that they lack. */
export const encryptionStatusProcedure = procedure.query(async ({ ctx }) => {
  const context = { requestId: ctx.requestId }
  const [gateway, fulfilment] = await Promise.all([
    ctx.keyRegister.status(),
    ask(ctx.fulfilment.encryption.status.query({}, { context })),
  ])
  return { gateway, fulfilment }
})

/**
 * `encryption.rotate`: a part of the records of both services is encrypted by the first key; to be called until `next` is null. The
 * gateway remembers how far it is, so that any call continues a rotation that was cut off. With `dryRun` nothing is changed, and
 * `position` is the `next` of the call before.
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
