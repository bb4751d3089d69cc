import { keyUnknown, recordAltered } from '@oncehook/kernel/http/error-codes'
import { sendUpdates } from '@oncehook/kernel/mongo/bulk-update'
import type { Encryption } from '@oncehook/kernel/secrets/encryption'
import { TIMED_OUT, withTimeout } from '@oncehook/kernel/time/waits'
import { EVENTS } from '@oncehook/queue/task'
import { insertBackfilled, leaveUnhandled, literals, makeDueAgain } from '@oncehook/queue/transitions'
import { type Confirmed, type Provider, unhandledReason, type WebhookEvent } from '@oncehook/webhooks/providers'
import { BSON, type Db, type Document, type FindCursor, type ObjectId } from 'mongodb'
import { type BodySource, isBodyGone, withBody } from '../../inbox/bodies.ts'
import { type EventDocument, FULFILMENT, NOBODY } from '../../inbox/event-document.ts'
import { IS_COMPLETE } from '../../inbox/key-only-record.ts'
import { NO_DATES } from '../../inbox/retention/retention.ts'
import { copyAsTask, toTask } from '../../inbox/tasks.ts'
import type { FindWanting } from '../../webhooks/find-wanting.ts'
import { type ReverifyDeps, reverifyEvent } from '../events/reverify-event.ts'
import { hasExpired } from '../operator-trpc.ts'
import type { ReplayDocument } from './replays.ts'

interface SliceDeps extends ReverifyDeps {
  readonly db: Db
  readonly encryption: Encryption
  /** Finds the handlers that want an event. Absent: no handlers are configured. */
  readonly findWanting?: FindWanting | undefined
}

/** An event whose body could not be read with the current settings. The mapping from its receipt then applies. */
interface NotRead {
  readonly id: string
  readonly why: string
  /** Whether it gets no task, because its body is missing. Only of a backfill. */
  readonly isLeftOut: boolean
}

/** Events that are examined together, and their changes. */
export interface ReadSlice {
  readonly updates: readonly EventUpdate[]
  readonly notRead: readonly NotRead[]
  /** The id up to which everything has been examined, for the cursor. */
  readonly last: ObjectId | null
  readonly isLast: boolean
  /** Whether other replays take their turn now. */
  readonly isSlow: boolean
  /** Whether the database aborted the search. */
  readonly hasExpired: boolean
}

// Well below the lease: reading an event again may require a request to its provider.
const SLICE_MS = 5_000
// With one more record, which has at most 16 MB, this is below the 48 MB of a command. It also bounds the memory.
const SLICE_BYTES = 4_000_000

/** A part of a replay's search: matching events in order, and the id up to which nothing else matches. */
export interface SearchPart {
  readonly found: FindCursor<EventDocument>
  /** Null if the search goes to the end. */
  readonly end: ObjectId | null
}

/** Reads events one by one, until there are `limit`, the search ends, or the slice has enough bytes or time. */
export async function readSlice(
  deps: SliceDeps,
  replay: ReplayDocument,
  { found, end }: SearchPart,
  limit: number,
): Promise<ReadSlice> {
  const readRecord = createSliceReader(deps, deps)
  const updates: EventUpdate[] = []
  const notRead: NotRead[] = []
  let [last, examined, bytes] = [replay.cursor, 0, 0]
  const endsAt = performance.now() + SLICE_MS
  const soFar = (state: Pick<ReadSlice, 'isSlow' | 'hasExpired'>): ReadSlice => ({
    ...{ updates, notRead, last, isLast: false, ...state },
  })
  const add = async (record: EventDocument): Promise<void> => {
    const read = await readRecord(record)
    if ('failure' in read) notRead.push(toNotRead(replay, record, read.failure))
    const statement = await plan(deps, replay, { record, read })
    if (statement === null) return
    updates.push({ id: record._id, statement })
    bytes += BSON.calculateObjectSize(statement)
  }
  try {
    for await (const record of found) {
      await add(record)
      examined += 1
      last = record._id
      const isSlow = performance.now() > endsAt
      if (isSlow || bytes > SLICE_BYTES) return soFar({ isSlow, hasExpired: false })
    }
  } catch (error) {
    if (!hasExpired(error)) throw error
    return soFar({ isSlow: true, hasExpired: true })
  }
  const isThrough = examined < limit
  const reached = { last: isThrough ? (end ?? last) : last, isLast: isThrough && end === null }
  return { updates, notRead, ...reached, isSlow: false, hasExpired: false }
}

function toNotRead({ handler }: ReplayDocument, { _id }: EventDocument, why: string): NotRead {
  return { id: String(_id), why, isLeftOut: handler !== undefined && isLeftOut(why) }
}

/** The update for an event. Of a backfill, there is none if its handler does not want the event. */
async function plan(
  deps: SliceDeps,
  replay: ReplayDocument,
  { record, read }: { readonly record: EventDocument; readonly read: RemapResult },
): Promise<EventUpdate['statement'] | null> {
  if (replay.handler === undefined) return { q: unchanged(record, replay), u: dueAgain(replay, record, read) }
  return planBackfill(deps, replay, { record, read })
}

/**
 * An event is changed only in the state in which it was read, and once for each replay. If it is being processed, or
 * was already made due again, it stays as it is.
 */
function unchanged({ _id, state }: EventDocument, replay: ReplayDocument): Document {
  return { _id, state, 'replays.id': { $ne: replay._id }, ...IS_COMPLETE }
}

/** An event that nobody wanted becomes the task of fulfilment if that wants it now. Other handlers get a backfill. */
function dueAgain({ _id, by, reason }: ReplayDocument, record: EventDocument, read: RemapResult): Document[] {
  const notRead = 'failure' in read ? { notRead: read.failure } : {}
  const entry = { id: _id, by, reason, ...notRead }
  const members = 'members' in read ? read.members : {}
  if (record.handler !== NOBODY) return makeDueAgain(entry, { ...literals(members), ...NO_DATES })
  const { type, facts, orderId } = { ...record, ...members }
  const unwanted = unhandledReason({ type, facts: { ...facts, orderId } })
  if (unwanted === null) return makeDueAgain(entry, { ...literals({ ...members, handler: FULFILMENT }), ...NO_DATES })
  return leaveUnhandled(entry, literals({ ...members, reason: unwanted }))
}

/**
 * Creates the reader of one slice of a replay. Events of one delivery follow each other: their body is fetched, checked
 * and parsed once, and only one body is kept.
 * @throws MongoError if a body cannot be fetched
 */
function createSliceReader(source: BodySource, deps: ReverifyDeps): (record: EventDocument) => Promise<RemapResult> {
  let last: { readonly key: string; readonly read: DeliveryRead } | undefined
  return async (stored) => {
    if (stored.bodyId === undefined) {
      const record = await readStored(source, stored)
      return 'failure' in record ? record : remap(record, deps)
    }
    const key = deliveryKeyOf(stored)
    if (last?.key !== key) {
      const record = await readStored(source, stored)
      last = { key, read: 'failure' in record ? record : await readDelivery(record, deps) }
    }
    const { read } = last
    // Forgotten, so that the next event asks the provider again.
    if (isUnavailable(read)) last = undefined
    return pickEvent(read, stored)
  }
}

async function readStored(
  source: BodySource,
  stored: EventDocument,
): Promise<EventDocument | { readonly failure: string }> {
  try {
    const record = await withBody(source, stored)
    return isBodyGone(record) ? { failure: 'body_expired' } : record
  } catch (error) {
    if (keyUnknown.is(error) || recordAltered.is(error)) return { failure: error.code }
    throw error
  }
}

/** Everything that checking and reading depend on. The times of receipt differ by milliseconds within one delivery. */
function deliveryKeyOf({ provider, bodyId, requestId, headers, query }: EventDocument): string {
  return JSON.stringify([provider, bodyId, requestId, headers, query])
}

function isUnavailable(read: DeliveryRead): boolean {
  return 'answers' in read && read.answers.some((answer) => 'refused' in answer && answer.refused === 'unavailable')
}

// The failures of `remap` that mean that nobody could read the body. All others concern the current settings.
const WITHOUT_BODY: ReadonlySet<string> = new Set(['body_expired', 'key_unknown', 'record_altered'])

/** Whether an event gets no task, because its body is missing: it could be neither chosen nor sent. */
function isLeftOut(failure: string): boolean {
  return WITHOUT_BODY.has(failure)
}

/**
 * The update that gives a handler the task of a stored event. Null if it does not want the event. If the body cannot be
 * read with the current settings, the mapping from its receipt applies.
 */
async function planBackfill(
  deps: SliceDeps,
  { _id: id, by, reason, handler }: ReplayDocument,
  { record: stored, read }: { readonly record: EventDocument; readonly read: RemapResult },
): Promise<(EventUpdate['statement'] & { readonly upsert: true }) | null> {
  if ('failure' in read && isLeftOut(read.failure)) return null
  // It could not be read when it came: a replay gives it its key first.
  if ('members' in read && read.members.eventId !== undefined) return null
  const record = await withBody(deps, stored)
  const rawBody = record.raw.value()
  const members = 'members' in read ? read.members : {}
  const { provider, eventId } = stored
  const { type, facts, orderId } = { ...record, ...members }
  const event = { type, facts: { ...facts, orderId } }
  const ofFulfilment = unhandledReason(event) === null ? [{ handler: FULFILMENT }] : []
  const ofHandlers = deps.findWanting?.({ provider, rawBody })(event).map(toTask) ?? []
  const wish = [...ofFulfilment, ...ofHandlers].find((one) => one.handler === handler)
  if (wish === undefined) return null
  const task = copyAsTask({ ...record, raw: record.raw }, { ...wish, members, encryption: deps.encryption })
  const entry = { id, by, reason, ...('failure' in read ? { notRead: read.failure } : {}) }
  return { q: { provider, eventId, handler: wish.handler }, u: insertBackfilled(task, entry), upsert: true }
}

/** The fields of a record that are read from its body; its id, if it could not be read before. */
type MappedFields = Pick<EventDocument, 'type' | 'objectId' | 'orderId' | 'facts'> &
  Partial<Pick<EventDocument, 'eventId'>>

/**
 * The contents of a body by the current settings, or why it cannot be read now: the failure that `reverifyEvent` found,
 * `unreadable` (it is not an event by the current settings), `event_missing` (it contains another event) or the answer
 * of the provider (`not_confirmed`, …; `unavailable` if it did not answer).
 */
type RemapResult = { readonly members: MappedFields } | { readonly failure: string }

const CONFIRM_MS = 3_000

/** The events of a delivery by the current settings, or why it cannot be read now. */
type DeliveryRead = { readonly answers: readonly Confirmed[] } | { readonly failure: string }

/** Reads a stored body with the current settings: a corrected mapping is a common reason for a replay. Never throws. */
export async function remap(record: EventDocument, deps: ReverifyDeps): Promise<RemapResult> {
  return pickEvent(await readDelivery(record, deps), record)
}

/** Reads all events of a stored body with the current settings. Never throws. */
async function readDelivery(record: EventDocument, deps: ReverifyDeps): Promise<DeliveryRead> {
  try {
    const provider = deps.providers().get(record.provider)
    if (provider === undefined) return { failure: 'provider_unknown' }
    const { verified, failure } = await reverifyEvent(record, deps)
    if (verified === null) return { failure: failure ?? 'unreadable' }
    return { answers: await confirmAll(provider, provider.readEvents(verified), deps.fetch) }
  } catch {
    return { failure: 'unreadable' }
  }
}

/**
 * Picks the event of a record from a delivery that was read. A record that could not be read before gets the key that the event
 * has now: later deliveries of it are duplicates.
 */
function pickEvent(
  read: DeliveryRead,
  { eventId, facts: { withheld, pointer } }: Pick<EventDocument, 'eventId' | 'facts'>,
): RemapResult {
  if ('failure' in read) return read
  const events = read.answers.flatMap((answer) => ('event' in answer ? [answer.event] : []))
  const found = events.find(({ id }) => id === eventId)
  const inItsPlace = () => events.find(({ facts }) => facts.pointer === pointer)
  const event = found ?? (withheld === 'unreadable' ? inItsPlace() : undefined)
  if (event === undefined) {
    const refusal = read.answers.find((answer) => 'refused' in answer)
    return { failure: refusal?.refused ?? 'event_missing' }
  }
  const { type, objectId = '' } = event
  const { orderId, ...facts } = event.facts
  return { members: { type, objectId, orderId, facts, ...(found === undefined ? { eventId: event.id } : {}) } }
}

/** If the signature is not strong enough, only the provider's answer counts, at a replay as well as at the receipt. */
async function confirmAll(
  { confirm }: Provider,
  events: readonly WebhookEvent[],
  fetch: ReverifyDeps['fetch'],
): Promise<readonly Confirmed[]> {
  if (confirm === undefined) return events.map((event) => ({ event }))
  const unavailable = [{ refused: 'unavailable' }]
  const asked = Promise.all(events.map((event) => confirm(event, fetch))).catch(() => unavailable)
  const answers = await withTimeout(asked, CONFIRM_MS)
  return answers === TIMED_OUT ? unavailable : answers
}

/** The update of an event, or the one that inserts a task of it. */
interface EventUpdate {
  readonly id: ObjectId
  readonly statement: { readonly q: Document; readonly u: readonly Document[]; readonly upsert?: true }
}

/** Writes the updates of a slice. Resolves to those that the server refused. */
export async function writeSlice(db: Db, updates: readonly EventUpdate[]) {
  if (updates.length === 0) return []
  const { refused } = await sendUpdates(db, { update: EVENTS, updates: updates.map(({ statement }) => statement) })
  return refused.flatMap(({ index, code }) => {
    const update = updates[index]
    return update === undefined ? [] : [{ id: update.id, code }]
  })
}
