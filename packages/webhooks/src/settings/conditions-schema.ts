import { z } from 'zod'
import type { Condition, Conditions } from '../events/conditions.ts'

/** A JSON Pointer in a setting. */
export const pointerSchema = z
  .string()
  .regex(/^(?:\/(?:[^~/]|~[01])*)+$/, { error: 'must be a JSON Pointer (RFC 6901)' })

const number = z.number().refine(isExact, { error: 'must be a number that JSON keeps exactly' })
const scalar = z.union([z.string().max(255), number, z.boolean(), z.null()])
const FORMS =
  'text, a number that JSON keeps exactly, true, false, null, { "prefix": … }, { "in": […] } or bounds (gt, gte, lt, lte)'
const condition: z.ZodType<Condition> = z.union(
  [
    scalar,
    z.strictObject({ prefix: z.string().min(1).max(255) }),
    z.strictObject({ in: z.array(scalar).min(1).max(100) }),
    z
      .strictObject({ gt: number.optional(), gte: number.optional(), lt: number.optional(), lte: number.optional() })
      .refine((bounds) => Object.keys(bounds).length > 0),
  ],
  { error: `must be ${FORMS}` },
)

/**
 * Conditions in a setting, all of which must hold.
 * @internal
 */
export const conditionsSchema: z.ZodType<Conditions> = z.record(pointerSchema, condition).readonly()

/** Conditions in a setting, or a list of them, of which one is enough. */
export const alternativesSchema: z.ZodType<readonly Conditions[]> = z.preprocess(
  // As a list, so that what is wrong is said of its place: a union would only say that nothing fits.
  (given) => (Array.isArray(given) ? given : [given]),
  z.array(conditionsSchema).min(1).max(20),
)

function isExact(value: number): boolean {
  return !Number.isInteger(value) || Number.isSafeInteger(value)
}
