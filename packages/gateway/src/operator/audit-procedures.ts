import { ObjectId } from 'mongodb'
import { z } from 'zod'
import { pageMembers } from './event-filter.ts'
import { procedure } from './operator-trpc.ts'

/** `audit.list`: who did what and why, newest first. Nothing writes to the audit but what is told of in it. */
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
