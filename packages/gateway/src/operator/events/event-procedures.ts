import { hash } from 'node:crypto'
import { keyUnknown, notFound, recordAltered } from '@oncehook/kernel/http/error-codes'
import type { AppError } from '@oncehook/kernel/http/errors'
import { AS_WRITTEN } from '@oncehook/kernel/mongo/majority'
import { advanceLine, closeTask, releaseTask } from '@oncehook/queue/changes'
import { EVENTS } from '@oncehook/queue/task'
import { Binary, type Db, ObjectId } from 'mongodb'
import { z } from 'zod'
import { eventNotDead, eventNotProcessing } from '../../errors.ts'
import { type BodySource, withBody } from '../../inbox/bodies.ts'
import type { EventDocument } from '../../inbox/event-document.ts'
import { withGone } from '../../inbox/key-only-record.ts'
import { closedFields } from '../../inbox/retention/retention.ts'
import type { Audit, AuditEntry } from '../audit/audit.ts'
import { inputText, reasonSchema } from '../input-text.ts'
import {
  changingProcedure,
  demandPost,
  demandRole,
  type OperatorContext,
  procedure,
  recordChange,
} from '../operator-trpc.ts'
import { toWholeEvents } from './event-feed.ts'
import { type EventFilter, eventFilterSchema, idSchema, pageMembers, toObjectId } from './event-filter.ts'
import { countEvents, type FoundEvents, findNewest, type SearchBudget } from './event-search.ts'
import { reverifyEvent } from './reverify-event.ts'
import { explainWaiting, showEvent, showEventDetails } from './show-event.ts'

const MOST_MS = 2_000
const BUDGET: SearchBudget = { ms: MOST_MS, now: () => performance.now() }

const ids = ['eventId', 'orderId', 'paymentId'] as const
const searchMembers = { ...eventFilterSchema.shape, about: inputText(255).optional() }

/** Events to look for. `about` is an id of an event, an order or a payment. */
const searchSchema = z
  .strictObject(searchMembers)
  .refine((search) => search.about === undefined || ids.every((name) => search[name] === undefined), {
    error: 'about replaces eventId, orderId and paymentId',
  })

const listSchema = searchSchema
  .safeExtend({
    text: inputText(255).optional(),
    withinMs: z.int().min(1).max(MOST_MS).default(MOST_MS),
    ...pageMembers,
  })
  .refine(({ about, text }) => about === undefined || text === undefined, {
    error: 'either about or text is needed',
  })
  .prefault({})

/**
 * `events.list`: tasks of events that match a filter, newest first. A search that takes longer than 2 s, or than `withinMs`,
 * stops: `cut` then says how far back it has searched, and the page of `next` continues there. A page can therefore
 * have few items or none, and still a `next`. `about` finds the events with this id; if there are none, those about
 * this order; otherwise those about this payment. `text` finds events whose body contains it. This requires the role
 * `bodies`, and the audit log has an entry before the search. `notReadable` is the number of bodies that could not be
 * searched. `text` and `about`, which people type, are taken by POST only.
 */
export const listEventsProcedure = procedure.input(listSchema).query(async ({ ctx, input }) => {
  const { records, filter: _, ...rest } = await searchEvents(ctx, input)
  return { items: records.map((record) => showEvent(withGone(record))), ...rest }
})

/**
 * `events.feed`: the same search, but each event once, with the tasks of all its handlers. `limit` is the number of matching tasks:
 * a page has as many events or fewer. Its items have the position of their newest matching task.
 */
export const feedEventsProcedure = procedure.input(listSchema).query(async ({ ctx, input }) => {
  const { records, filter, ...rest } = await searchEvents(ctx, input)
  return { items: await toWholeEvents(ctx.db, filter, records), ...rest }
})

async function searchEvents(ctx: OperatorContext, input: z.output<typeof listSchema>) {
  const { limit, after, text, withinMs, ...search } = input
  if (text !== undefined || search.about !== undefined) demandPost(ctx)
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
  const { records, next } = found
  return { filter, records, next, cut: showCut(found), notReadable: bodies?.notReadable ?? 0 }
}

/** `events.counts`: how many events match a filter. `cut` says how far back they were counted within 2 s; it is null if all were. */
export const countEventsProcedure = procedure.input(eventFilterSchema.prefault({})).query(async ({ ctx, input }) => {
  const counted = await countEvents(ctx.db, input, BUDGET)
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
    if (reason !== null) demandPost(ctx)
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

const changeSchema = z.strictObject({ id: idSchema, reason: reasonSchema })

type Change = z.output<typeof changeSchema>

/** `events.close`: closes a dead event. No delivery revives it; a replay that names it still does. */
export const closeEventProcedure = changingProcedure.input(changeSchema).mutation(async ({ ctx, input }) => {
  const close = (_id: ObjectId): Promise<boolean> =>
    closeTask(ctx.db, _id, { by: ctx.operator, reason: input.reason }, closedFields(ctx.retention))
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
  const release = (_id: ObjectId): Promise<boolean> => releaseTask(ctx.db, _id)
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
  const entry = { action, reason, details: { id, provider, eventId } }
  await recordChange(ctx, entry, { isPossible: state === from, change: () => change(_id), refusal })
  return found
}

/**
 * The filter for an id: an event, by our id or by the provider's; else an order that has events; else a
 * payment. Only payments have no index, so the others are looked up first.
 */
async function resolveAbout(
  db: Db,
  { about, provider }: { readonly about: string; readonly provider?: string | undefined },
  budget: SearchBudget,
): Promise<Pick<EventFilter, 'provider' | 'eventId' | 'orderId' | 'paymentId'>> {
  const from = provider === undefined ? {} : { provider }
  const _id = toObjectId(about)
  const options = { projection: { provider: 1, eventId: 1 } }
  const own = _id === null ? null : await db.collection<EventDocument>(EVENTS).findOne({ _id, ...from }, options)
  if (own !== null) return { provider: own.provider, eventId: own.eventId }
  // Both have an index, so asking for both at once costs less time than asking in turn.
  const kinds = [{ eventId: about }, { orderId: about }]
  const found = await Promise.all(
    kinds.map((one) => findNewest(db, { filter: { ...one, ...from }, after: undefined, limit: 1 }, budget)),
  )
  const kind = kinds.find((_, index) => found[index]?.records.length !== 0)
  return { ...(kind ?? { paymentId: about }), ...from }
}

const HOUR_SECONDS = 3_600

/**
 * Adds a search for a text in bodies to the audit log. All pages of a search share one entry if the same operator
 * requests them within the same hour. The text may be personal data, so the entry contains only its SHA-256.
 */
export async function recordBodySearch(
  {
    audit,
    clock,
    operator,
  }: Pick<OperatorContext, 'clock' | 'operator'> & { readonly audit: Pick<Audit, 'has' | 'record'> },
  { filter, text }: { readonly filter: EventFilter; readonly text: string },
): Promise<void> {
  const details = { ...filter, textHash: hash('sha256', text) }
  const id = idOfSearch(Math.floor(clock.now() / 1_000 / HOUR_SECONDS), { operator, ...details })
  if (await audit.has(id)) return
  await audit.record({ id, by: operator, action: 'events.search-bodies', reason: null, details })
}

function idOfSearch(hour: number, search: object): ObjectId {
  const digest = hash('sha256', JSON.stringify([hour, search]))
  return new ObjectId((hour * HOUR_SECONDS).toString(16).padStart(8, '0') + digest.slice(0, 16))
}

export function createBodySearch(source: BodySource, text: string) {
  const forms = writtenForms(text).map((form) => Buffer.from(form))
  let notReadable = 0
  const search = async (record: EventDocument): Promise<boolean> => {
    try {
      const { raw } = await withBody(source, withGone(record))
      // Other software may have written anything.
      if (!(raw instanceof Binary)) return false
      const { buffer, byteOffset, length } = raw.value()
      const body = Buffer.from(buffer, byteOffset, length)
      return forms.some((form) => body.includes(form))
    } catch (error) {
      if (!keyUnknown.is(error) && !recordAltered.is(error)) throw error
      notReadable += 1
      return false
    }
  }
  return {
    /**
     * Whether the body of a record contains the text, literally or as JSON or a form encodes it. Case-sensitive. A body
     * that has been removed contains nothing.
     */
    matches: search,
    /** How many bodies could not be read so far, because their key is gone or because they were altered. */
    get notReadable() {
      return notReadable
    },
  }
}

const hex = (character: string): string => character.charCodeAt(0).toString(16).padStart(4, '0')

/** The forms in which usual software writes a text into a body. For plain letters and digits there is only one. */
function writtenForms(text: string): string[] {
  const json = JSON.stringify(text).slice(1, -1)
  const escaped = (which: RegExp, toHex: (character: string) => string): string =>
    json.replace(which, (character) => `\\u${toHex(character)}`)
  const inJson = [
    json,
    escaped(/[^\0-\x7f]/g, hex),
    escaped(/[^\0-\x7f]/g, (character) => hex(character).toUpperCase()),
    escaped(/[<>&]/g, hex),
  ]
  const inForm = new URLSearchParams([['', text]]).toString().slice(1)
  return [...new Set([text, ...inJson, ...inJson.map((form) => form.replaceAll('/', '\\/')), inForm])]
}
