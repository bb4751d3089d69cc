import { keyUnknown, notFound, recordAltered } from '@oncehook/kernel/http/error-codes'
import type { AppError } from '@oncehook/kernel/http/errors'
import type { Db } from 'mongodb'
import { z } from 'zod'
import { type BodySource, withBody } from '../../inbox/bodies.ts'
import { EVENTS, type EventDocument } from '../../inbox/event-document.ts'
import { withGone } from '../../inbox/key-only-record.ts'
import { demandRole, procedure } from '../operator-trpc.ts'
import { reasonSchema } from '../replays/replay-procedures.ts'
import { createBodySearch } from './body-search.ts'
import { countEvents } from './count-events.ts'
import { type EventFilter, eventFilterSchema, idSchema, pageMembers, toObjectId } from './event-filter.ts'
import { explainWaiting } from './explain-waiting.ts'
import { type FoundEvents, findNewest, type SearchBudget } from './find-newest.ts'
import { recordBodySearch } from './record-body-search.ts'
import { resolveAbout } from './resolve-about.ts'
import { reverifyEvent } from './reverify-event.ts'
import { showEvent, showEventDetails } from './show-event.ts'

const MOST_MS = 2_000
const BUDGET: SearchBudget = { ms: MOST_MS, now: () => performance.now() }

const ids = ['eventId', 'orderId', 'paymentId'] as const
const searchMembers = { ...eventFilterSchema.shape, about: z.string().min(1).max(255).optional() }

/** Events to look for. `about` is an id of an event, an order or a payment. */
const searchSchema = z
  .strictObject(searchMembers)
  .refine((search) => search.about === undefined || ids.every((name) => search[name] === undefined), {
    error: 'about replaces eventId, orderId and paymentId',
  })

/**
 * `events.list`: events that match a filter, newest first. A search that takes longer than 2 s, or than `withinMs`,
 * stops: `cut` then says how far back it has searched, and the page of `next` continues there. A page can therefore
 * have few items or none, and still a `next`. `about` finds the events with this id; if there are none, those about
 * this order; otherwise those about this payment. `text` finds events whose body contains it. This requires the role
 * `bodies`, and the audit log has an entry before the search. `notReadable` is the number of bodies that could not be
 * searched.
 */
export const listEventsProcedure = procedure
  .input(
    searchSchema
      .safeExtend({
        text: z.string().min(1).max(255).optional(),
        withinMs: z.int().min(1).max(MOST_MS).default(MOST_MS),
        ...pageMembers,
      })
      .refine(({ about, text }) => about === undefined || text === undefined, {
        error: 'either about or text is needed',
      })
      .prefault({}),
  )
  .query(async ({ ctx, input: { limit, after, text, withinMs, ...search } }) => {
    if (text !== undefined) {
      demandRole(ctx, 'bodies')
      await recordBodySearch(ctx, { filter: search, text })
    }
    const filter = await toEventFilter(ctx.db, search)
    const bodies = text === undefined ? null : createBodySearch(ctx, text)
    const found = await findNewest(
      ctx.db,
      { filter, after, limit, isWanted: bodies?.matches },
      { ...BUDGET, ms: withinMs },
    )
    return {
      items: found.records.map((record) => showEvent(withGone(record))),
      next: found.next,
      cut: showCut(found),
      notReadable: bodies?.notReadable ?? 0,
    }
  })

/**
 * `events.counts`: how many events match a filter, how many of them were received more than once, and how many also
 * with another body. `cut` says how far back events were counted within 2 s; it is null if all were counted.
 */
export const countEventsProcedure = procedure.input(searchSchema.prefault({})).query(async ({ ctx, input }) => {
  const counted = await countEvents(ctx.db, await toEventFilter(ctx.db, input), BUDGET)
  return { ...counted, cut: showCut(counted) }
})

async function toEventFilter(db: Db, { about, ...filter }: z.output<typeof searchSchema>): Promise<EventFilter> {
  if (about === undefined) return filter
  return { ...filter, ...(await resolveAbout(db, { about, provider: filter.provider }, BUDGET)) }
}

function showCut({ cut }: Pick<FoundEvents, 'cut'>): { readonly searchedTo: string } | null {
  return cut === null ? null : { searchedTo: cut.searchedTo.toISOString() }
}

const oneEvent = z.strictObject({ id: idSchema })

/**
 * `events.get`: one event with every attempt, and why it waits if it is pending. `body` requires the role `bodies` and
 * adds the body and the headers with signatures; an entry is added to the audit log before they are shown. Without
 * `body`, an event is shown even if its key is gone or its body was altered.
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
    const waiting = await explainWaiting(ctx, event)
    return showEventDetails(event, { withBody: body, notReadable: notReadable?.code ?? null, waiting })
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
