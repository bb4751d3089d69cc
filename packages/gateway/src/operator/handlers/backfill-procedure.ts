import { notFound } from '@oncehook/kernel/http/error-codes'
import { type Filter, ObjectId } from 'mongodb'
import { z } from 'zod'
import type { HandlerSettings, WantedEvents } from '../../handlers/settings/read-handlers.ts'
import type { EventDocument } from '../../inbox/event-document.ts'
import { eventFilterSchema, toMongoFilter } from '../events/event-filter.ts'
import { changingProcedure } from '../operator-trpc.ts'
import { reasonSchema } from '../replays/replay-procedures.ts'
import type { ReplayRequest } from '../replays/replays.ts'

const backfillSchema = z.strictObject({
  handler: z.string().min(1).max(63),
  filter: eventFilterSchema.default({}),
  reason: reasonSchema,
  dryRun: z.boolean().default(false),
  ratePerSecond: z.number().int().min(1).max(10_000).optional(),
})

/**
 * `handlers.backfill`: gives a handler tasks for stored events that it wants and has no task of. It is a replay: `replays.get`
 * shows its progress, and `replays.cancel` ends it. `matched` is the number of records examined, of which the handler may
 * want fewer, because conditions on the body are checked one by one.
 */
export const backfillProcedure = changingProcedure.input(backfillSchema).mutation(async ({ ctx, input }) => {
  const { handler: name, filter, reason, dryRun, ratePerSecond } = input
  const handler = ctx.handlers?.().get(name)
  if (handler === undefined) throw notFound({}, { message: 'No handler has this name' })
  const meant = await toMongoFilter(ctx.db, filter)
  const request: ReplayRequest = {
    ...{ by: ctx.operator, reason, ratePerSecond: ratePerSecond ?? null, includeDone: true, includeClosed: true },
    target: { filter: { $and: [meant, wantedBy(handler)] } },
    handler: name,
  }
  const matched = await ctx.replays.match(request)
  if (dryRun) return { replayId: null, matched }
  // The entry of the audit log comes first. After a crash in between, nothing is started without an entry.
  const replayId = new ObjectId()
  const details = { handler: name, filter, matched, replayId: String(replayId) }
  await ctx.audit.record({ by: ctx.operator, action: 'handlers.backfill', reason, details })
  await ctx.replays.start(replayId, request, matched)
  const line = { requestId: ctx.requestId, by: ctx.operator, handler: name, matched, replayId: String(replayId) }
  ctx.logger.info(line, 'handler.backfilled')
  return { replayId: String(replayId), matched }
})

/** The records of events that a handler may want, except for its own tasks and for test events. */
function wantedBy({ name, events }: HandlerSettings): Filter<EventDocument> {
  return { $or: events.map(toFilter), handler: { $ne: name }, test: { $ne: true } }
}

const SPECIAL = /[\\^$.*+?()[\]{}|/-]/g

function toFilter({ provider, types }: WantedEvents): Filter<EventDocument> {
  const exact = types.filter((type) => !type.endsWith('*'))
  const starts = types.filter((type) => type.endsWith('*')).map((type) => type.slice(0, -1))
  const prefixes = starts.map((start) => ({ type: { $regex: `^${start.replaceAll(SPECIAL, '\\$&')}` } }))
  return {
    ...(provider === undefined ? {} : { provider: { $eq: provider } }),
    $or: [{ type: { $in: exact } }, ...prefixes],
  }
}
