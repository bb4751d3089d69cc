import { durableRead } from '@oncehook/kernel/mongo/durable-read'
import type { Db, FindCursor } from 'mongodb'
import { EVENTS, type EventDocument } from '../../inbox/event-document.ts'
import { IS_COMPLETE } from '../../inbox/key-only-record.ts'
import { nameByKey, nameOfKey } from '../../inbox/record-key.ts'
import type { ReplayDocument } from './replay-document.ts'
import { windowStartOf } from './second-look.ts'

/** A record that a search has found. Null: it needs no task. */
export interface FoundRecord {
  readonly _id: EventDocument['_id']
  readonly record: EventDocument | null
}

type FoundKey = Pick<EventDocument, '_id' | 'provider' | 'eventId' | 'handler' | 'receivedAt'>

const KEY = { _id: 1, provider: 1, eventId: 1, handler: 1, receivedAt: 1 } as const
const READ_MS = 4_000

/**
 * The records of a search, in order. Of those for which the handler has a task only the keys are read, so they cost a
 * backfill neither time nor its rate. Neither do tasks of other handlers whose events were received before the window:
 * the first look has examined these events.
 */
export async function* findMissing(
  db: Db,
  replay: ReplayDocument,
  found: FindCursor<EventDocument>,
): AsyncGenerator<FoundRecord> {
  const keys = await found.project<FoundKey>(KEY).toArray()
  const start = windowStartOf(replay)
  const events = keys.filter(({ handler, receivedAt }) => handler === undefined || receivedAt >= start)
  const existing = await findTasks(db, replay, events)
  const ids = events.filter((key) => !existing.has(nameOfEvent(key))).map(({ _id }) => _id)
  await using records = db
    .collection<EventDocument>(EVENTS)
    .find({ _id: { $in: ids }, ...IS_COMPLETE }, { maxTimeMS: READ_MS })
    .sort({ _id: 1 })
  let next = ids.length === 0 ? null : await records.next()
  for (const { _id } of keys) {
    const record = next?._id.equals(_id) === true ? next : null
    yield { _id, record }
    if (record !== null) next = await records.next()
  }
}

/** The events of which the handler of a backfill has tasks. */
async function findTasks(
  db: Db,
  { handler }: ReplayDocument,
  events: readonly FoundKey[],
): Promise<ReadonlySet<string>> {
  if (handler === undefined || events.length === 0) return new Set()
  const $or = events.map(({ provider, eventId }) => nameByKey({ provider, eventId, handler }))
  // A task that is later rolled back would be missed.
  const tasks = await db
    .collection<EventDocument>(EVENTS)
    .find({ $or }, durableRead(READ_MS))
    .project<Pick<EventDocument, 'provider' | 'eventId'>>({ _id: 0, provider: 1, eventId: 1 })
    .toArray()
  return new Set(tasks.map(nameOfEvent))
}

function nameOfEvent({ provider, eventId }: Pick<EventDocument, 'provider' | 'eventId'>): string {
  return nameOfKey({ provider, eventId })
}
