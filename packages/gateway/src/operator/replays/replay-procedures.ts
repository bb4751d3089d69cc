import { toAppError } from '@oncehook/kernel/http/errors'
import { ObjectId } from 'mongodb'
import { z } from 'zod'
import { eventFilterSchema, idSchema, pageMembers, toMongoFilter } from '../events/event-filter.ts'
import { reasonSchema } from '../input-text.ts'
import { changingProcedure, type OperatorContext, procedure } from '../operator-trpc.ts'
import { listReplays, type ReplayRequest } from './replays.ts'

const replaySchema = z
  .strictObject({
    ids: z.array(idSchema).min(1).max(1_000).optional(),
    filter: eventFilterSchema.optional(),
    reason: reasonSchema,
    dryRun: z.boolean().default(false),
    ratePerSecond: z.int().min(1).max(10_000).optional(),
    includeDone: z.boolean().default(false),
  })
  .refine(({ ids, filter }) => (ids === undefined) !== (filter === undefined), {
    error: 'either ids or a filter is needed',
  })

/**
 * `events.replay`: makes settled events due again. They are processed as usual, so an event that had its effect has no
 * second effect. Every call except a dry run adds an entry to the audit log, even if it was refused or too late to
 * change anything.
 */
export const replayEventsProcedure = changingProcedure.input(replaySchema).mutation(async ({ ctx, input }) => {
  const { ids, filter, reason, dryRun, ratePerSecond, includeDone } = input
  const target = ids === undefined ? { filter: await toMongoFilter(ctx.db, filter ?? {}) } : { ids }
  const request: ReplayRequest = {
    ...{ by: ctx.operator, reason, target, ratePerSecond: ratePerSecond ?? null },
    ...{ includeDone, includeClosed: filter?.state === 'closed' },
  }
  if (dryRun) return { replayId: null, matched: await ctx.replays.match(request) }
  const meant = ids === undefined ? { filter } : { ids: ids.slice(0, 20), count: ids.length }
  const matched = await ctx.replays.match(request).catch(async (error: unknown) => {
    await audit(ctx, reason, { ...meant, refused: toAppError(error).code })
    throw error
  })
  // The entry of the audit log comes first. After a crash in between, nothing is replayed without an entry.
  const replayId = new ObjectId()
  const replay = { matched, replayId: String(replayId), includeDone }
  await audit(ctx, reason, { ...meant, ...replay })
  await ctx.replays.start(replayId, request, matched)
  ctx.logger.info({ requestId: ctx.requestId, by: ctx.operator, ...replay }, 'event.replayed')
  return { replayId: String(replayId), matched }
})

function audit(ctx: OperatorContext, reason: string, details: Record<string, unknown>): Promise<void> {
  return ctx.audit.record({ by: ctx.operator, action: 'events.replay', reason, details })
}

/** `replays.list`: the replays of all operators with their progress, newest first. */
export const listReplaysProcedure = procedure
  .input(z.strictObject(pageMembers).prefault({}))
  .query(async ({ ctx, input: { limit, after } }) => {
    const page = { limit: limit + 1, after: after === undefined ? null : new ObjectId(after) }
    const found = await listReplays(ctx, page)
    const items = found.slice(0, limit)
    return { items, next: found.length > limit ? (items.at(-1)?.replayId ?? null) : null }
  })

const oneReplay = z.strictObject({ replayId: idSchema })

/** `replays.get`: the progress of a replay. */
export const getReplayProcedure = procedure
  .input(oneReplay)
  .query(({ ctx, input }) => ctx.replays.progress(input.replayId))

/** `replays.cancel`: makes no more events of a replay due again. */
export const cancelReplayProcedure = changingProcedure.input(oneReplay).mutation(async ({ ctx, input }) => {
  const { state } = await ctx.replays.progress(input.replayId)
  await ctx.audit.record({ by: ctx.operator, action: 'replays.cancel', reason: null, details: { ...input, state } })
  return ctx.replays.cancel(input.replayId)
})
