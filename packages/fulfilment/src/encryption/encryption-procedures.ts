import { z } from 'zod'
import { encryptionKeyDiffers } from '../errors.ts'
import { procedure } from '../trpc.ts'
import { rotateAnswers } from './rotate-answers.ts'
import { rotateOrders } from './rotate-orders.ts'

const nothing = z.strictObject({})

/** `encryption.status`: the keys this process has, and the keys it lacks although records are encrypted with them. */
export const encryptionStatusProcedure = procedure
  .input(nothing)
  .query(({ ctx }) => ctx.useCases.encryption.register.status())

// Missing where an earlier gateway asks: it rotates to whatever key is the first one here, and retires none.
const keySchema = z.string().min(1).max(255).optional()

// The name of a rotation: what one leaves behind is not retired at the end of another.
const rotationSchema = z.string().min(1).max(255).default('unnamed')

const requestSchema = z.discriminatedUnion('collection', [
  z.strictObject({
    collection: z.literal('orders'),
    after: z.string().min(1).max(1_024).nullable(),
    dryRun: z.boolean(),
    key: keySchema,
    rotation: rotationSchema,
  }),
  z.strictObject({
    collection: z.literal('idempotency_keys'),
    after: z
      .string()
      .regex(/^[0-9a-f]{24}$/)
      .nullable(),
    dryRun: z.boolean(),
    key: keySchema,
    rotation: rotationSchema,
  }),
])

/**
 * `encryption.rotate`: a part of a collection is encrypted by the first key, or only counted. Again does no harm. CONFLICT where `key`
 * is not the first one.
 */
export const rotateEncryptionProcedure = procedure
  .input(requestSchema)
  .mutation(async ({ ctx, input: { collection, key, rotation, ...request } }) => {
    const { register, ...source } = ctx.useCases.encryption
    // One key for the whole part, whatever the file says meanwhile.
    const encryption = source.encryption.pin()
    if (key !== undefined && encryption.firstKey !== key) throw encryptionKeyDiffers({ key })
    if (collection === 'orders') {
      if (request.after === null && !request.dryRun) await register.beginRotation(rotation)
      return rotateOrders({ ...source, encryption }, request)
    }
    return rotateAnswers({ ...source, encryption }, request)
  })

/**
 * `encryption.retire`: after a rotation of all records to `key`, forgets the keys that no process has encrypted with
 * since it began. Forgets none if `key` is missing, or is not the first one.
 */
export const retireKeysProcedure = procedure
  .input(z.strictObject({ key: keySchema, rotation: rotationSchema }))
  .mutation(async ({ ctx, input: { key, rotation } }) =>
    key === undefined ? { retired: [], inUse: [] } : await ctx.useCases.encryption.register.retire(key, rotation),
  )
