import { ObjectId } from 'mongodb'
import { z } from 'zod'
import { pageMembers } from '../events/event-filter.ts'
import { procedure } from '../operator-trpc.ts'

/** `audit.list`: who did what and why, newest first. Only the actions that it lists write to the audit log. */
export const listAuditProcedure = procedure
  .input(z.strictObject(pageMembers).prefault({}))
  .query(async ({ ctx, input: { limit, after } }) => {
    const found = await ctx.audit.list({
      limit: limit + 1,
      after: after === undefined ? undefined : new ObjectId(after),
    })
    const items = found
      .slice(0, limit)
      .map(({ _id, at, ...entry }) => ({ id: String(_id), at: at.toISOString(), ...entry }))
    return { items, next: found.length > limit ? (items.at(-1)?.id ?? null) : null }
  })

const linkSchema = z.strictObject({ seq: z.int().min(1), hash: z.string().regex(/^[0-9a-f]{64}$/) })

/**
 * `audit.verify`: whether the entries are unchanged and none is missing, 20,000 at a time. `after` is the `next` of the
 * previous part.
 */
export const verifyAuditProcedure = procedure
  .input(z.strictObject({ after: linkSchema.optional() }).prefault({}))
  .query(({ ctx, input: { after = null } }) => ctx.audit.verify(after))
