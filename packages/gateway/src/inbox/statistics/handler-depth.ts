import { DUE_INDEX, EVENTS, STATE_INDEX } from '@oncehook/queue/task'
import { type Db, ObjectId } from 'mongodb'

/** The tasks of a handler at this moment. A number is null if the database did not answer in time. */
export interface HandlerDepth {
  readonly pending: number | null
  readonly dead: number | null
  readonly oldestStoredAt: Date | null
}

/** The depths of all handlers, also of those that are not configured. */
export interface HandlerDepths {
  of(handler: string): HandlerDepth
  readonly names: readonly string[]
}

const COUNT_MS = 3_000

/** With one search of an index for each state. Never throws. */
export async function readHandlerDepths(db: Db): Promise<HandlerDepths> {
  const [pending, dead] = await Promise.all([count(db, 'pending'), count(db, 'dead')])
  const of = (counts: Counts | null, handler: string) => (counts === null ? null : (counts.get(handler)?.tasks ?? 0))
  return {
    of: (handler) => ({
      ...{ pending: of(pending, handler), dead: of(dead, handler) },
      oldestStoredAt: timeOf(pending?.get(handler)?.oldest),
    }),
    names: [...new Set([pending, dead].flatMap((counts) => [...(counts?.keys() ?? [])]))],
  }
}

interface Counted {
  readonly _id: string
  readonly tasks: number
  readonly oldest?: unknown
}

type Counts = ReadonlyMap<string, Counted>

/** An id of ours contains the time at which its record was stored. */
function timeOf(id: unknown): Date | null {
  return id instanceof ObjectId ? id.getTimestamp() : null
}

// The keys of these indexes are enough: no record is read.
const INDEX_OF = { pending: DUE_INDEX, dead: STATE_INDEX } as const
const TASKS = { _id: '$handler', tasks: { $sum: 1 } } as const
const GROUP_OF = { pending: { ...TASKS, oldest: { $min: '$_id' } }, dead: TASKS } as const

async function count(db: Db, state: keyof typeof INDEX_OF): Promise<Counts | null> {
  const pipeline = [{ $match: { state } }, { $group: GROUP_OF[state] }]
  const options = { hint: INDEX_OF[state], maxTimeMS: COUNT_MS }
  try {
    const found = await db.collection(EVENTS).aggregate<Counted>(pipeline, options).toArray()
    return new Map(found.map((one) => [one._id, one]))
  } catch {
    return null
  }
}
