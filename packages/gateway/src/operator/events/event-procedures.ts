import { keyUnknown, notFound, recordAltered } from '@oncehook/kernel/error-codes'
import type { AppError } from '@oncehook/kernel/errors'
import { z } from 'zod'
import { type BodySource, withBody } from '../../inbox/bodies.ts'
import { EVENTS, type EventDocument } from '../../inbox/event-document.ts'
import { withGone } from '../../inbox/key-only-record.ts'
import { demandRole, procedure } from '../operator-trpc.ts'
import { reasonSchema } from '../replays/replay-procedures.ts'
import { eventFilterSchema, idSchema, pageMembers, toObjectId } from './event-filter.ts'
import { findNewest, type SearchBudget } from './find-newest.ts'
import { reverifyEvent } from './reverify-event.ts'
import { showEvent, showEventDetails } from './show-event.ts'

const BUDGET: SearchBudget = { ms: 2_000, now: () => performance.now() }

/**
 * `events.list`: events that match a filter, newest first. A search that takes longer than 2 s stops: `cut` then says
 * how far back it came, and the page of `next` continues there. So a page may have few items, or none, and a `next`.
 */
export const listEventsProcedure = procedure
  .input(eventFilterSchema.extend(pageMembers).prefault({}))
  .query(async ({ ctx, input: { limit, after, ...filter } }) => {
    const { records, next, cut } = await findNewest(ctx.db, { filter, after, limit }, BUDGET)
    return {
      items: records.map((record) => showEvent(withGone(record))),
      next,
      cut: cut === null ? null : { searchedTo: cut.searchedTo.toISOString() },
    }
  })

const oneEvent = z.strictObject({ id: idSchema })

/**
 * `events.get`: one event with every attempt. `body` requires the role `bodies` and adds the body and the headers that
 * prove it; the audit log has an entry before they are shown. Without `body`, an event is shown even if its key is gone
 * or its body was altered.
 */
export const getEventProcedure = procedure
  .input(oneEvent.extend({ body: z.boolean().default(false), reason: reasonSchema.optional() }))
  .query(async ({ ctx, input: { id, body, reason = null } }) => {
    if (body) demandRole(ctx, 'bodies')
    const { event, notReadable } = await readEvent(ctx, await findEvent(ctx, id))
    if (body && notReadable !== null) throw notReadable
    if (body) {
      const { provider, eventId } = event
      const entry = { by: ctx.operator, action: 'events.read-body', reason } as const
      await ctx.audit.record({ ...entry, details: { id, provider, eventId } })
    }
    return showEventDetails(event, { withBody: body, notReadable: notReadable?.code ?? null })
  })

/** `events.reverify`: checks the stored bytes against the secrets, as of the time of receipt. */
export const reverifyEventProcedure = procedure.input(oneEvent).query(async ({ ctx, input }) => {
  const { valid, secretId, failure } = await reverifyEvent(await withBody(ctx, await findEvent(ctx, input.id)), ctx)
  return { valid, secretId, failure }
})

async function findEvent({ db }: BodySource, id: string): Promise<EventDocument> {
  const _id = toObjectId(id)
  const found = _id === null ? null : await db.collection<EventDocument>(EVENTS).findOne({ _id })
  if (found === null) throw notFound({}, { message: 'No event has this id' })
  return withGone(found)
}

/** The event with its body. If the key is gone or the body was altered, the event as it is stored. */
async function readEvent(
  source: BodySource,
  stored: EventDocument,
): Promise<{ event: EventDocument; notReadable: AppError | null }> {
  try {
    return { event: await withBody(source, stored), notReadable: null }
  } catch (error) {
    if (keyUnknown.is(error) || recordAltered.is(error)) return { event: stored, notReadable: error }
    throw error
  }
}
