import type { Encryption } from '@oncehook/kernel/secrets/encryption'
import { unhandledReason } from '@oncehook/webhooks/providers'
import { BSON, type Db, type Document, type ObjectId } from 'mongodb'
import { isHandled } from '../../dispatch/handlers.ts'
import type { FindWanting } from '../../handlers/events/find-wanting.ts'
import { type EventDocument, FULFILMENT, NOBODY } from '../../inbox/event-document.ts'
import { IS_COMPLETE } from '../../inbox/key-only-record.ts'
import { leaveUnhandled, makeDueAgain } from '../../inbox/transitions.ts'
import type { ReverifyDeps } from '../events/reverify-event.ts'
import { isLeftOut, planBackfill } from './plan-backfill.ts'
import type { RemapResult } from './remap.ts'
import type { ReplayDocument } from './replay-document.ts'
import { hasExpired, type SearchPart } from './replay-search.ts'
import { createSliceReader } from './slice-reader.ts'
import type { EventUpdate } from './write-slice.ts'

/** What reading a slice needs. */
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
  /** Whether the replay ends with this slice. */
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

/** A part of a search, and the number of events at which it stops. */
export interface LimitedPart extends SearchPart {
  readonly limit: number
}

/** Reads events one by one, until the search ends or the slice has enough bytes or time. */
export async function readSlice(
  deps: SliceDeps,
  replay: ReplayDocument,
  { found, end, limit }: LimitedPart,
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
  { db, encryption, findWanting }: SliceDeps,
  replay: ReplayDocument,
  { record, read }: { readonly record: EventDocument; readonly read: RemapResult },
): Promise<EventUpdate['statement'] | null> {
  const { handler } = replay
  if (handler === undefined) return { q: unchanged(record, replay), u: dueAgain(replay, record, read) }
  if (findWanting === undefined) return null
  return planBackfill({ db, encryption, findWanting }, replay, { record, read, handler })
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
  if (record.handler !== NOBODY) return makeDueAgain(entry, members)
  const { type, facts, orderId } = { ...record, ...members }
  const unwanted = unhandledReason({ type, facts: { ...facts, orderId } }, isHandled)
  if (unwanted === null) return makeDueAgain(entry, { ...members, handler: FULFILMENT })
  return leaveUnhandled(entry, { ...members, reason: unwanted })
}
