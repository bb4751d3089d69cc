import type { Db } from 'mongodb'
import { EVENTS, TASK_DEAD_INDEX, TASK_DUE_INDEX } from '../event-document.ts'

/** The tasks of a handler at this moment. A number is null if the database did not answer in time. */
export interface HandlerDepth {
  readonly pending: number | null
  readonly dead: number | null
}

/** Returns the depth of a handler; null means fulfilment. */
export type HandlerDepths = (handler: string | null) => HandlerDepth

const COUNT_MS = 3_000

/**
 * Counts the pending and the dead tasks of all handlers, with one search of an index for each state. Never throws.
 */
export async function readHandlerDepths(db: Db): Promise<HandlerDepths> {
  const [pending, dead] = await Promise.all([count(db, 'pending'), count(db, 'dead')])
  const of = (counts: Counts | null, handler: string | null) => (counts === null ? null : (counts.get(handler) ?? 0))
  return (handler) => ({ pending: of(pending, handler), dead: of(dead, handler) })
}

/** Handler -> number of its tasks. */
type Counts = ReadonlyMap<string | null, number>

// The keys of these indexes are enough: no record is read.
const INDEX_OF = { pending: TASK_DUE_INDEX, dead: TASK_DEAD_INDEX } as const

async function count(db: Db, state: keyof typeof INDEX_OF): Promise<Counts | null> {
  const pipeline = [{ $match: { state } }, { $group: { _id: '$handler', tasks: { $sum: 1 } } }]
  const options = { hint: INDEX_OF[state], maxTimeMS: COUNT_MS }
  try {
    const found = db.collection(EVENTS).aggregate<{ _id: string | null; tasks: number }>(pipeline, options)
    return new Map((await found.toArray()).map(({ _id, tasks }) => [_id, tasks]))
  } catch {
    return null
  }
}
