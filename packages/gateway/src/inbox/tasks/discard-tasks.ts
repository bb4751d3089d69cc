import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import type { Db, Filter, ObjectId } from 'mongodb'
import { DEAD_BY_HANDLER_INDEX, DUE_INDEX, EVENTS, type EventDocument, PROCESSING_INDEX } from '../event-document.ts'
import type { Retention } from '../retention/retention.ts'
import { discard } from '../transitions.ts'

const SLICE = 500
const SEARCH_MS = 4_000
// Below the time that a client waits for an answer.
const WITHIN_MS = 4_000
const BY_ID = { _id: 1 } as const

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
  /** Tasks that a process holds. If it has died, they become pending when its lease ends. */
  readonly held: number
}

/**
 * Settles the pending and the dead tasks of a handler that was removed, in slices and for a limited time. It is safe to
 * repeat. The caller makes sure that no gateway has the handler.
 */
export async function discardTasks(deps: DiscardDeps, handler: string): Promise<Discarded> {
  const { db, monotonicMs = () => performance.now() } = deps
  const endsAt = monotonicMs() + WITHIN_MS
  let discarded = 0
  let more = false
  for (const state of ['pending', 'dead'] as const) {
    for (let isFull = true; isFull && !more; ) {
      const ids = await findSlice(db, { state, handler })
      discarded += await write(deps, { _id: { $in: ids }, state, handler })
      isFull = ids.length === SLICE
      more = isFull && monotonicMs() > endsAt
    }
  }
  const filter = { state: 'processing', handler } as const
  const events = db.collection<EventDocument>(EVENTS)
  return {
    discarded,
    more,
    held: await events.countDocuments(filter, { hint: PROCESSING_INDEX, maxTimeMS: SEARCH_MS }),
  }
}

function write({ db, retention }: DiscardDeps, q: Filter<EventDocument>): Promise<number> {
  const updates = [{ q, u: discard(retention), multi: true, hint: BY_ID }]
  return bulkUpdate(db, { update: EVENTS, updates })
}

interface Wanted {
  readonly state: 'pending' | 'dead'
  readonly handler: string
}

const INDEX_OF = { pending: DUE_INDEX, dead: DEAD_BY_HANDLER_INDEX } as const

/** Some tasks of the handler. Those that were discarded have left the index. */
async function findSlice(db: Db, { state, handler }: Wanted): Promise<ObjectId[]> {
  const ids = await db
    .collection<EventDocument>(EVENTS)
    .find({ state, handler }, { hint: INDEX_OF[state], maxTimeMS: SEARCH_MS })
    .project<Pick<EventDocument, '_id'>>({ _id: 1 })
    .limit(SLICE)
    .toArray()
  return ids.map(({ _id }) => _id)
}
