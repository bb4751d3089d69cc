import { notFound } from '@oncehook/kernel/error-codes'
import { type Db, ObjectId } from 'mongodb'
import { z } from 'zod'
import { EVENTS, type EventDocument } from '../inbox/event-document.ts'
import { beforeCursor, eventFilterSchema, eventIdSchema, toMongoFilter } from './event-filter.ts'
import { procedure } from './operator-trpc.ts'
import { reverifyEvent } from './reverify-event.ts'
import { LIST_PROJECTION, showEvent, showEventDetails } from './show-event.ts'

const SEARCH_MS = 5_000
const pageMembers = { limit: z.int().min(1).max(100).default(20), after: eventIdSchema.optional() }

/** `events.list`: events that a filter means, newest first. */
export const listEventsProcedure = procedure
  .input(eventFilterSchema.extend(pageMembers).prefault({}))
  .query(async ({ ctx, input: { limit, after, ...filter } }) => {
    const found = await ctx.db
      .collection<EventDocument>(EVENTS)
      .find(
        { $and: [toMongoFilter(filter), beforeCursor(after)] },
        { projection: LIST_PROJECTION, maxTimeMS: SEARCH_MS },
      )
      .sort({ _id: -1 })
      .limit(limit + 1)
      .toArray()
    const items = found.slice(0, limit).map(showEvent)
    return { items, next: found.length > limit ? (items.at(-1)?.id ?? null) : null }
  })

const oneEvent = z.strictObject({ id: eventIdSchema })

/** `events.get`: one event with its evidence and every try. */
export const getEventProcedure = procedure
  .input(oneEvent)
  .query(async ({ ctx, input }) => showEventDetails(await findEvent(ctx.db, input.id)))

/** `events.reverify`: the stored bytes against the secrets, as of the time of receipt. */
export const reverifyEventProcedure = procedure.input(oneEvent).query(async ({ ctx, input }) => {
  const { valid, secretId, failure } = await reverifyEvent(await findEvent(ctx.db, input.id), ctx.providers())
  return { valid, secretId, failure }
})

async function findEvent(db: Db, id: string): Promise<EventDocument> {
  const found = await db.collection<EventDocument>(EVENTS).findOne({ _id: new ObjectId(id) })
  if (found === null) throw notFound({}, { says: 'No event has this id' })
  return found
}
