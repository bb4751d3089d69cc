import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import { timeOf } from '@oncehook/queue/expressions'
import { EVENTS, SETTLED_STATES } from '@oncehook/queue/task'
import type { Db, Document, Filter, ObjectId } from 'mongodb'
import type { EventDocument } from '../event-document.ts'
import { BODY_ELSEWHERE, keyOnlyRecord, WITHOUT_BODY } from '../key-only-record.ts'
import type { Retention } from './retention.ts'

const AT_ONCE = 500
const SEARCH_MS = 4_000

/**
 * Removes the bodies, headers and queries whose retention has ended. A dead event stays dead without them. A record
 * with an expiry date is then left to expire. If the key must stay, everything else is removed once the retention of
 * the record has ended too. This works in slices, so that no command outlasts the wait for its answer. After a stop,
 * the next run continues.
 */
export async function stripOldBodies(db: Db, retention: Retention, stopping: AbortSignal): Promise<void> {
  for (let found = AT_ONCE; found === AT_ONCE && !stopping.aborted; ) {
    const due = await db
      .collection<EventDocument>(EVENTS)
      .find(IS_DUE, { hint: 'strip', maxTimeMS: SEARCH_MS })
      .project<{ _id: ObjectId }>({ _id: 1 })
      .limit(AT_ONCE)
      .toArray()
    found = due.length
    const q = { _id: { $in: due.map(({ _id }) => _id) }, ...IS_DUE }
    if (found > 0) await bulkUpdate(db, { update: EVENTS, updates: [{ q, u: strip(retention), multi: true }] })
  }
}

// An absent date sorts before every other: a record that was replayed in the meantime has none.
const IS_DUE: Filter<EventDocument> = {
  stripAt: { $type: 'date' },
  state: { $in: [...SETTLED_STATES] },
  $expr: { $lte: ['$stripAt', '$$NOW'] },
}

const IS_DEAD = { $eq: ['$state', 'dead'] }
const EXPIRES = { $eq: [{ $type: '$expireAt' }, 'date'] }

function strip({ retentionMs }: Retention): Document[] {
  const settled = { $ifNull: [timeOf('closed.at'), timeOf('settledAt')] }
  const end = { $add: [settled, retentionMs] }
  const isOver = { $not: [{ $or: [IS_DEAD, EXPIRES, { $gt: [end, '$$NOW'] }] }] }
  const next = { $cond: [{ $or: [IS_DEAD, EXPIRES] }, '$$REMOVE', end] }
  return [
    { $set: { ...WITHOUT_BODY, stripAt: next } },
    { $unset: BODY_ELSEWHERE },
    { $replaceWith: { $cond: [isOver, keyOnlyRecord('expired'), '$$ROOT'] } },
  ]
}
