import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import type { Db, Filter, ObjectId } from 'mongodb'
import { DEAD_BY_HANDLER_INDEX, DUE_INDEX, EVENTS, type EventDocument } from '../event-document.ts'
import type { Retention } from '../retention/retention.ts'
import { discard } from '../transitions.ts'

const SLICE = 500
const SEARCH_MS = 4_000
// Below the time that a client waits for an answer.
const WITHIN_MS = 4_000
const BY_ID = { _id: 1 } as const
const HAS_ENDED = { $expr: { $lte: ['$dueAt', '$$NOW'] } } as const

/** Dependencies of the discarding. */
interface DiscardDeps {
  readonly db: Db
  readonly retention: Retention
  /** Milliseconds that never go backwards. Default: those of the process. */
  readonly monotonicMs?: () => number
}

/** How many tasks were discarded, and which are left. */
interface Discarded {
  readonly discarded: number
  /** Whether the time ended before the tasks did. Repeat the call. */
  readonly more: boolean
  /** Tasks whose claims have not ended. Repeat the call after that. */
  readonly held: number
}

/**
 * Settles the pending and the dead tasks of a handler that was removed, and those whose claims have ended, in slices and for a
 * limited time. It is safe to repeat. The caller makes sure that no gateway has the handler.
 */
export async function discardTasks(deps: DiscardDeps, handler: string): Promise<Discarded> {
  const { db, monotonicMs = () => performance.now() } = deps
  const endsAt = monotonicMs() + WITHIN_MS
  let discarded = 0
  let more = false
  for (const state of ['pending', 'dead', 'processing'] as const) {
    const left: Filter<EventDocument> = { state, handler, ...(state === 'processing' ? HAS_ENDED : {}) }
    for (let isFull = true; isFull && !more; ) {
      const ids = await findSlice(db, left, state === 'dead' ? DEAD_BY_HANDLER_INDEX : DUE_INDEX)
      discarded += await write(deps, { ...left, _id: { $in: ids } })
      isFull = ids.length === SLICE
      more = isFull && monotonicMs() > endsAt
    }
  }
  const filter = { state: 'processing', handler } as const
  const events = db.collection<EventDocument>(EVENTS)
  return {
    discarded,
    more,
    held: await events.countDocuments(filter, { hint: DUE_INDEX, maxTimeMS: SEARCH_MS }),
  }
}

function write({ db, retention }: DiscardDeps, q: Filter<EventDocument>): Promise<number> {
  const updates = [{ q, u: discard(retention), multi: true, hint: BY_ID }]
  return bulkUpdate(db, { update: EVENTS, updates })
}

/** Some tasks of the handler. Those that were discarded have left the index. */
async function findSlice(db: Db, left: Filter<EventDocument>, hint: string): Promise<ObjectId[]> {
  const ids = await db
    .collection<EventDocument>(EVENTS)
    .find(left, { hint, maxTimeMS: SEARCH_MS })
    .project<Pick<EventDocument, '_id'>>({ _id: 1 })
    .limit(SLICE)
    .toArray()
  return ids.map(({ _id }) => _id)
}
