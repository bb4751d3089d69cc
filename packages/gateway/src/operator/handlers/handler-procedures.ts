import { notFound } from '@oncehook/kernel/http/error-codes'
import { discardTasks } from '@oncehook/queue/changes'
import type { Pause } from '@oncehook/queue/pauses'
import { type Filter, ObjectId } from 'mongodb'
import { z } from 'zod'
import { handlerConfigured } from '../../errors.ts'
import type { HandlerSettings, WantedEvents } from '../../handlers/handler-settings.ts'
import { type EventDocument, FULFILMENT } from '../../inbox/event-document.ts'
import { endFields } from '../../inbox/retention/retention.ts'
import { type FailingTasks, readFailingTasks } from '../../inbox/statistics/failing-tasks.ts'
import { type HandlerDepth, readHandlerDepths } from '../../inbox/statistics/handler-depth.ts'
import { eventFilterSchema, toMongoFilter } from '../events/event-filter.ts'
import { inputText, reasonSchema } from '../input-text.ts'
import { changingProcedure, type OperatorContext, procedure, recordChange } from '../operator-trpc.ts'
import { changePause } from '../providers/provider-procedures.ts'
import type { ReplayRequest } from '../replays/replays.ts'

/**
 * `handlers.list`: fulfilment, the configured handlers in the order of the setting, and then those that were removed but
 * still have pending or dead tasks, with their pauses and the numbers of their tasks.
 */
export const listHandlersProcedure = procedure.input(z.strictObject({}).optional()).query(async ({ ctx }) => {
  const { db, handlers, handlerPauses } = ctx
  if (handlers === null) return []
  const [listed, depths] = await Promise.all([handlerPauses.list(), readHandlerDepths(db)])
  const pauses = new Map(listed.map((pause) => [pause.name, pause]))
  const configured = handlers()
  const removed = depths.names.filter((name) => name !== FULFILMENT && !configured.has(name)).toSorted()
  // While the database does not even count the tasks in time, nothing more is asked.
  const waiting = [...configured.keys()].filter((name) => (depths.of(name).pending ?? 0) > 0)
  const failing = await readFailingTasks(db, waiting)
  const show = (name: string) => ({
    ...{ name, ...showSettings(ctx, name, configured.get(name)) },
    paused: showPause(pauses.get(name)),
    ...showDepth(depths.of(name)),
    failing: showFailing(failing.get(name)),
  })
  return [FULFILMENT, ...configured.keys(), ...removed].map(show)
})

/** How a handler is called, and the rest of its settings, which are null or empty for fulfilment and for a removed handler. */
function showSettings({ isHandlerUp }: OperatorContext, name: string, handler: HandlerSettings | undefined) {
  const keys = handler?.place.by === 'https' ? handler.place.keys : []
  return {
    // Removed: it is not in the setting any more, but has pending or dead tasks.
    by: handler?.place.by ?? (name === FULFILMENT ? ('built in' as const) : ('removed' as const)),
    // With its port.
    host: handler?.place.url.host ?? null,
    events: handler?.events ?? [],
    concurrency: handler?.concurrency ?? null,
    ratePerSecond: handler?.ratePerSecond ?? null,
    orderBy: handler?.orderBy ?? null,
    blockOnDead: handler?.blockOnDead ?? false,
    secrets: keys.map(({ id, notAfter }) => ({
      id,
      notAfter: notAfter === null ? null : new Date(notAfter).toISOString(),
    })),
    // Of the process that you ask. Null: it calls none.
    answers: handler === undefined ? null : isHandlerUp(name),
    pausedBySetting: handler?.paused ?? false,
  }
}

function showPause(pause: Pause | undefined) {
  return pause === undefined ? null : { since: pause.since.toISOString(), by: pause.by, reason: pause.reason }
}

/** The numbers of its tasks, null if the database did not answer in time, and when the oldest pending one was stored. */
function showDepth({ pending, dead, oldestStoredAt }: HandlerDepth) {
  return { pending, dead, oldestStoredAt: oldestStoredAt?.toISOString() ?? null }
}

/**
 * How many of the 20 pending tasks that wait longest for their next attempt have failed at least three times in a row, and
 * the newest error of these. Null: none has, or the database did not answer in time, or the handler is not configured.
 */
function showFailing(failing: FailingTasks | undefined) {
  if (failing === undefined) return null
  const { code, message, at } = failing.lastError
  return { tasks: failing.tasks, code, message, at: at.toISOString() }
}

const handlerChangeSchema = z.strictObject({ handler: inputText(63), reason: reasonSchema })

/**
 * `handlers.pause`: tasks of this handler are stored, but not sent until it is resumed. It takes effect in all gateways
 * within two seconds. Calls that have already begun are completed.
 */
export const pauseHandlerProcedure = changingProcedure.input(handlerChangeSchema).mutation(async ({ ctx, input }) => {
  const { handler, reason } = input
  if (!isKnown(ctx, handler)) throw notFound({}, { message: 'No handler has this name' })
  await changePause(ctx, 'handlers.pause', handler, reason)
  ctx.logger.info({ requestId: ctx.requestId, by: ctx.operator, handler }, 'handler.paused')
  return { handler, paused: true as const }
})

/** `handlers.resume`: the tasks that waited are sent, the oldest first. The handler may have been removed. */
export const resumeHandlerProcedure = changingProcedure.input(handlerChangeSchema).mutation(async ({ ctx, input }) => {
  const { handler, reason } = input
  await changePause(ctx, 'handlers.resume', handler, reason)
  ctx.logger.info({ requestId: ctx.requestId, by: ctx.operator, handler }, 'handler.resumed')
  return { handler, paused: false as const }
})

function isKnown({ handlers }: OperatorContext, name: string): boolean {
  return handlers !== null && (name === FULFILMENT || handlers().has(name))
}

/**
 * `handlers.discard`: settles the pending and the dead tasks of a handler that was removed from the setting, as `unhandled`.
 * It takes some seconds at most: repeat the call as long as there are `more`. Every call adds an entry to the audit log,
 * even if it was refused.
 */
export const discardTasksProcedure = changingProcedure.input(handlerChangeSchema).mutation(async ({ ctx, input }) => {
  const { handler, reason } = input
  const entry = { action: 'handlers.discard', reason, details: { handler } } as const
  const result = await recordChange(ctx, entry, {
    isPossible: !isConfigured(ctx, handler),
    change: () => discardTasks(ctx.db, handler, endFields(ctx.retention), ctx.monotonicMs),
    refusal: handlerConfigured,
  })
  ctx.logger.info({ requestId: ctx.requestId, by: ctx.operator, handler, ...result }, 'handler.tasks-discarded')
  return { handler, ...result }
})

function isConfigured({ handlers }: OperatorContext, name: string): boolean {
  return name === FULFILMENT || handlers?.().has(name) === true
}

const backfillSchema = z.strictObject({
  handler: inputText(63),
  filter: eventFilterSchema.default({}),
  reason: reasonSchema,
  dryRun: z.boolean().default(false),
  ratePerSecond: z.int().min(1).max(10_000).optional(),
})

/**
 * `handlers.backfill`: gives a handler, or fulfilment, tasks for stored events that it wants and has no task of. It is a replay: `replays.get`
 * shows its progress, and `replays.cancel` ends it. `matched` is the number of records examined, of which the handler may
 * want fewer, because conditions on the body are checked one by one.
 */
export const backfillProcedure = changingProcedure.input(backfillSchema).mutation(async ({ ctx, input }) => {
  const { handler: name, filter, reason, dryRun, ratePerSecond } = input
  const wanted = name === FULFILMENT ? [] : ctx.handlers?.().get(name)?.events
  if (wanted === undefined) throw notFound({}, { message: 'No handler has this name' })
  const meant = await toMongoFilter(ctx.db, filter)
  const request: ReplayRequest = {
    ...{ by: ctx.operator, reason, ratePerSecond: ratePerSecond ?? null, includeDone: true, includeClosed: true },
    target: { filter: { $and: [meant, wantedBy(name, wanted)] } },
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

/**
 * The records of events that a handler may want, except for its own tasks and for test events. Fulfilment may want any event: its types
 * are those to which the current settings map an event.
 */
function wantedBy(name: string, wanted: readonly WantedEvents[]): Filter<EventDocument> {
  const types = name === FULFILMENT ? {} : { $or: wanted.map(toFilter) }
  return { ...types, handler: { $ne: name }, test: { $ne: true } }
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
