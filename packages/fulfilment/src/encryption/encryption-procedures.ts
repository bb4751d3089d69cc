import { z } from 'zod'
import { procedure } from '../trpc.ts'
import { rotateAnswers } from './rotate-answers.ts'
import { rotateOrders } from './rotate-orders.ts'

const nothing = z.strictObject({})

/** `encryption.status`: the keys this process has, and the keys it lacks although records are encrypted with them. */
export const encryptionStatusProcedure = procedure
  .input(nothing)
  .query(({ ctx }) => ctx.useCases.encryption.register.status())

const requestSchema = z.discriminatedUnion('collection', [
  z.strictObject({
    collection: z.literal('orders'),
    after: z.string().min(1).max(1_024).nullable(),
    dryRun: z.boolean(),
  }),
  z.strictObject({
    collection: z.literal('idempotency_keys'),
    after: z
      .string()
      .regex(/^[0-9a-f]{24}$/)
      .nullable(),
    dryRun: z.boolean(),
  }),
])

/** `encryption.rotate`: encrypts a slice of a collection with the first key, or only counts it. Safe to repeat. */
export const rotateEncryptionProcedure = procedure
  .input(requestSchema)
  .mutation(({ ctx, input: { collection, ...request } }) =>
    collection === 'orders'
      ? rotateOrders(ctx.useCases.encryption, request)
      : rotateAnswers(ctx.useCases.encryption, request),
  )

/** `encryption.retire`: retires every key except the first, after a rotation of all records. */
export const retireKeysProcedure = procedure.input(nothing).mutation(async ({ ctx }) => ({
  retired: await ctx.useCases.encryption.register.retire(),
}))
