import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import { fromNow } from '@oncehook/kernel/mongo/database-clock'
import { MAJORITY } from '@oncehook/kernel/mongo/majority'
import { EVENTS, KEY_INDEX } from '@oncehook/queue/task'
import type { Db, Document, Filter } from 'mongodb'
import type { EventDocument } from '../event-document.ts'
import { IS_COMPLETE, keyOnlyRecord } from '../key-only-record.ts'

/*
 * Removes records at the end of their retention. The record of a task says that its handler had the event, and a backfill or a
 * redelivery relies on that. So it is removed only if no other record of the event is complete. Until then its key stays, without
 * data. A TTL index of the server could not do that: it looks at one record at a time. An age limit for backfills would be shorter,
 * but wrong after a longer retention is set, or if a late delivery made the other record.
 */

const AT_ONCE = 500
const SEARCH_MS = 4_000
/** After it, a key that had to stay is looked at again. */
const KEPT_MS = 7 * 86_400_000

type Expired = Pick<EventDocument, '_id' | 'provider' | 'eventId'>

// An absent date sorts before every other: a record that was replayed in the meantime has none.
const IS_OVER: Document = { $and: [{ $eq: [{ $type: '$expireAt' }, 'date'] }, { $lte: ['$expireAt', '$$NOW'] }] }
const IS_DUE: Filter<EventDocument> = { expireAt: { $type: 'date' }, $expr: { $lte: ['$expireAt', '$$NOW'] } }

/** Works in slices, so that no command outlasts the wait for its answer. Several processes may do this at the same time. */
export async function removeExpired(db: Db, stopping: AbortSignal): Promise<void> {
  const events = db.collection<EventDocument>(EVENTS)
  for (let found = AT_ONCE; found === AT_ONCE && !stopping.aborted; ) {
    const expired = await events
      .find(IS_DUE, { hint: 'expiry', maxTimeMS: SEARCH_MS })
      .project<Expired>({ provider: 1, eventId: 1 })
      .limit(AT_ONCE)
      .toArray()
    found = expired.length
    const needed = await findNeeded(db, expired)
    const [kept = [], removed = []] = [true, false].map((isNeeded) =>
      expired.filter((one) => needed.has(nameOf(one)) === isNeeded).map(({ _id }) => _id),
    )
    const u = [{ $replaceWith: keyOnlyRecord('expired') }, { $set: { expireAt: fromNow(KEPT_MS) } }]
    const q = { _id: { $in: kept }, ...IS_DUE }
    if (kept.length > 0) await bulkUpdate(db, { update: EVENTS, updates: [{ q, u, multi: true }] })
    if (removed.length > 0) await events.deleteMany({ _id: { $in: removed }, ...IS_DUE }, { writeConcern: MAJORITY })
  }
}

/** The names of those events that still have a complete record. */
async function findNeeded(db: Db, expired: readonly Expired[]): Promise<ReadonlySet<string>> {
  const byProvider = Map.groupBy(expired, ({ provider }) => provider)
  const searches = [...byProvider].map(([provider, ofProvider]) =>
    db
      .collection<EventDocument>(EVENTS)
      .find(
        {
          ...{ provider: { $eq: provider }, eventId: { $in: ofProvider.map(({ eventId }) => eventId) } },
          ...{ ...IS_COMPLETE, $expr: { $not: [IS_OVER] } },
        },
        { hint: KEY_INDEX.name, maxTimeMS: SEARCH_MS },
      )
      .project<Expired>({ provider: 1, eventId: 1 })
      .toArray(),
  )
  return new Set((await Promise.all(searches)).flat().map(nameOf))
}

function nameOf({ provider, eventId }: Expired): string {
  return `${provider}\n${eventId}`
}
