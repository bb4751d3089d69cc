import { notFound } from '@oncehook/kernel/error-codes'
import type { Db } from 'mongodb'
import { z } from 'zod'
import { withBody } from '../inbox/bodies.ts'
import { EVENTS, type EventDocument } from '../inbox/event-document.ts'
import { withGone } from '../inbox/key-only-record.ts'
import { beforeCursor, eventFilterSchema, idSchema, pageMembers, toMongoFilter, toObjectId } from './event-filter.ts'
import { procedure, SEARCH_MS } from './operator-trpc.ts'
import { reverifyEvent } from './reverify-event.ts'
import { LIST_PROJECTION, showEvent, showEventDetails } from './show-event.ts'

/** `events.list`: events that a filter means, newest first. */
export const listEventsProcedure = procedure
  .input(eventFilterSchema.extend(pageMembers).prefault({}))
  .query(async ({ ctx, input: { limit, after, ...filter } }) => {
    const found = await ctx.db
      .collection<EventDocument>(EVENTS)
      .find(
        { $and: [await toMongoFilter(ctx.db, filter), beforeCursor(after)] },
        { projection: LIST_PROJECTION, maxTimeMS: SEARCH_MS },
      )
      .sort({ _id: -1 })
      .limit(limit + 1)
      .toArray()
    const items = found.slice(0, limit).map((record) => showEvent(withGone(record)))
    return { items, next: found.length > limit ? (items.at(-1)?.id ?? null) : null }
  })

const oneEvent = z.strictObject({ id: idSchema })

/** `events.get`: one event with its evidence and every try. */
export const getEventProcedure = procedure
  .input(oneEvent)
  .query(async ({ ctx, input }) => showEventDetails(await findEvent(ctx.db, input.id)))

/** `events.reverify`: the stored bytes against the secrets, as of the time of receipt. */
export const reverifyEventProcedure = procedure.input(oneEvent).query(async ({ ctx, input }) => {
  const { valid, secretId, failure } = await reverifyEvent(await findEvent(ctx.db, input.id), ctx)
  return { valid, secretId, failure }
})

async function findEvent(db: Db, id: string): Promise<EventDocument> {
  const _id = toObjectId(id)
  const found = _id === null ? null : await db.collection<EventDocument>(EVENTS).findOne({ _id })
  if (found === null) throw notFound({}, { says: 'No event has this id' })
  return withBody(db, withGone(found))
}
