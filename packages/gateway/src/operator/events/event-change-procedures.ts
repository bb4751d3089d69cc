import { notFound } from '@oncehook/kernel/http/error-codes'
import type { AppError } from '@oncehook/kernel/http/errors'
import type { ObjectId } from 'mongodb'
import { z } from 'zod'
import { eventNotDead, eventNotProcessing } from '../../errors.ts'
import { releaseEvent } from '../../inbox/claims/release-event.ts'
import { closeEvent } from '../../inbox/close-event.ts'
import { EVENTS, type EventDocument } from '../../inbox/event-document.ts'
import { advanceLine } from '../../inbox/lines/advance-line.ts'
import type { AuditEntry } from '../audit/audit.ts'
import { changingProcedure, type OperatorContext } from '../operator-trpc.ts'
import { reasonSchema } from '../replays/replay-procedures.ts'
import { AS_WRITTEN } from './as-written.ts'
import { idSchema, toObjectId } from './event-filter.ts'

const changeSchema = z.strictObject({ id: idSchema, reason: reasonSchema })

type Change = z.output<typeof changeSchema>

/** `events.close`: closes a dead event. No delivery revives it; a replay that names it still does. */
export const closeEventProcedure = changingProcedure.input(changeSchema).mutation(async ({ ctx, input }) => {
  const close = (_id: ObjectId): Promise<boolean> =>
    closeEvent(ctx.db, _id, { by: ctx.operator, reason: input.reason, retention: ctx.retention })
  const kind = { action: 'events.close', from: 'dead', change: close, refusal: eventNotDead } as const
  const { handler, line } = await changeEvent(ctx, input, kind)
  if (line !== undefined) await advance(ctx, handler, line)
  ctx.logger.info({ requestId: ctx.requestId, by: ctx.operator, id: input.id }, 'event.closed')
  return { id: input.id, state: 'closed' as const }
})

/** The dead event may have blocked its line. If this fails, it is closed all the same, and a sweep makes up for it. */
async function advance({ db, logger, requestId }: OperatorContext, handler: string, line: string): Promise<void> {
  try {
    await advanceLine(db, { handler, line })
  } catch (error) {
    logger.warn({ error, requestId, handler }, 'line.not-advanced')
  }
}

/** `events.release`: an event that is being processed is due at once. Later writes of its holder have no effect. */
export const releaseEventProcedure = changingProcedure.input(changeSchema).mutation(async ({ ctx, input }) => {
  const release = (_id: ObjectId): Promise<boolean> => releaseEvent(ctx.db, _id)
  const kind = { action: 'events.release', from: 'processing', change: release, refusal: eventNotProcessing } as const
  await changeEvent(ctx, input, kind)
  ctx.logger.info({ requestId: ctx.requestId, by: ctx.operator, id: input.id }, 'event.released')
  return { id: input.id, state: 'pending' as const }
})

interface ChangeKind {
  readonly action: AuditEntry['action']
  readonly from: EventDocument['state']
  readonly change: (id: ObjectId) => Promise<boolean>
  readonly refusal: () => AppError
}

type Found = Pick<EventDocument, 'state' | 'provider' | 'eventId' | 'handler' | 'line'>

/**
 * Every call for an existing event adds an entry to the audit log, even if it was refused. Resolves to the event before
 * the change.
 */
async function changeEvent(ctx: OperatorContext, { id, reason }: Change, kind: ChangeKind): Promise<Found> {
  const { action, from, change, refusal } = kind
  const _id = toObjectId(id)
  const projection = { _id: 0, state: 1, provider: 1, eventId: 1, handler: 1, line: 1 }
  const events = ctx.db.collection<EventDocument>(EVENTS)
  const found = _id && (await events.findOne<Found>({ _id }, { projection, ...AS_WRITTEN }))
  if (!_id || !found) throw notFound({}, { message: 'No event has this id' })
  const { provider, eventId, state } = found
  const refuse = async (): Promise<never> => {
    const error = refusal()
    await ctx.audit.record({
      by: ctx.operator,
      action,
      reason,
      details: { id, provider, eventId, refused: error.code },
    })
    throw error
  }
  if (state !== from) return refuse()
  // The entry of the audit log comes first. After a crash in between, nothing is changed without an entry.
  await ctx.audit.record({ by: ctx.operator, action, reason, details: { id, provider, eventId } })
  if (!(await change(_id))) return refuse()
  return found
}
