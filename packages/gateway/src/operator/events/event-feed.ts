// Tasks that were found, as events: each event once, with the tasks of all its handlers.

import { EVENTS, KEY_INDEX } from '@oncehook/queue/task'
import type { Db, Filter } from 'mongodb'
import { type EventDocument, FULFILMENT } from '../../inbox/event-document.ts'
import { withGone } from '../../inbox/key-only-record.ts'
import { SEARCH_MS } from '../operator-trpc.ts'
import { type EventFilter, toMongoFilter } from './event-filter.ts'
import { LIST_PROJECTION, showEvent } from './show-event.ts'

/**
 * The events of the found tasks, newest first, each with all its tasks, whether they match or not. An event has the place of its
 * newest task that matches, so it is on one page only. Costs two searches in the index of keys, for the events of the page.
 */
export async function toWholeEvents(db: Db, filter: EventFilter, found: readonly EventDocument[]) {
  // The newest of each event comes first.
  const first = new Map(found.toReversed().map((record) => [eventOf(record), record]))
  if (first.size === 0) return []
  const tasks = await readTasks(db, [...first.values()])
  const later = [...first.values()].filter((record) =>
    tasks.get(eventOf(record))?.some(({ _id }) => isNewer(_id, record._id)),
  )
  const elsewhere = await findElsewhere(db, filter, later)
  return found
    .filter((record) => first.get(eventOf(record)) === record && !elsewhere.has(eventOf(record)))
    .map((record) => showWhole(record, tasks.get(eventOf(record)) ?? [record]))
}

const eventOf = ({ provider, eventId }: Pick<EventDocument, 'provider' | 'eventId'>): string =>
  `${provider}\n${eventId}`

const isNewer = (one: EventDocument['_id'], other: EventDocument['_id']): boolean =>
  Buffer.compare(one.id, other.id) > 0

function keysOf(records: readonly EventDocument[]): Filter<EventDocument> {
  const byProvider = Map.groupBy(records, ({ provider }) => provider)
  return {
    $or: [...byProvider].map(([provider, some]) => ({
      provider: { $eq: provider },
      eventId: { $in: some.map(({ eventId }) => eventId) },
    })),
  }
}

const WITHIN = { maxTimeMS: SEARCH_MS, hint: KEY_INDEX.name }

async function readTasks(db: Db, records: readonly EventDocument[]) {
  const options = { ...WITHIN, projection: LIST_PROJECTION }
  const tasks = await db.collection<EventDocument>(EVENTS).find(keysOf(records), options).toArray()
  return Map.groupBy(tasks, eventOf)
}

/** Those events whose newest matching task is another one than this. They have their place there. */
async function findElsewhere(db: Db, filter: EventFilter, records: readonly EventDocument[]): Promise<Set<string>> {
  if (records.length === 0) return new Set()
  const options = { ...WITHIN, projection: { provider: 1, eventId: 1 } }
  const meant = { $and: [keysOf(records), await toMongoFilter(db, filter)] }
  const matching = Map.groupBy(await db.collection<EventDocument>(EVENTS).find(meant, options).toArray(), eventOf)
  const hasOther = (record: EventDocument): boolean | undefined =>
    matching.get(eventOf(record))?.some(({ _id }) => isNewer(_id, record._id))
  return new Set(records.filter(hasOther).map(eventOf))
}

/** `id` is that of the task that gives the event its place. */
function showWhole(record: EventDocument, tasks: readonly EventDocument[]) {
  const { id, provider, eventId, type, orderId, test, receivedAt } = showEvent(withGone(record))
  return {
    ...{ id, provider, eventId, type, orderId, test, receivedAt },
    deliveries: Math.max(...tasks.map(({ deliveries }) => deliveries)),
    mismatches: Math.max(...tasks.map(({ mismatches }) => mismatches)),
    tasks: tasks
      .map((task) => showEvent(withGone(task)))
      .sort((one, other) => rankOf(one.handler) - rankOf(other.handler) || one.handler.localeCompare(other.handler))
      .map(({ id: taskId, handler, state, reason }) => ({ id: taskId, handler, state, reason })),
  }
}

function rankOf(handler: string): number {
  return handler === FULFILMENT ? 0 : 1
}
