import type { Db } from 'mongodb'
import { EVENTS, TASK_DUE_INDEX } from '../event-document.ts'

/** The tasks of a handler at this moment. A number is null if the database did not answer in time. */
export interface HandlerDepth {
  readonly pending: number | null
  readonly dead: number | null
}

const COUNT_MS = 1_500

/** Counts the pending and the dead tasks of a handler; null means fulfilment. Never throws. */
export async function readHandlerDepth(db: Db, handler: string | null): Promise<HandlerDepth> {
  const [pending, dead] = await Promise.all([count(db, 'pending', handler), count(db, 'dead', handler)])
  return { pending, dead }
}

// Without its index, a count would read every record.
const INDEX_OF = { pending: TASK_DUE_INDEX, dead: 'dead' } as const

function count(db: Db, state: keyof typeof INDEX_OF, handler: string | null): Promise<number | null> {
  return db
    .collection(EVENTS)
    .countDocuments({ state, handler }, { hint: INDEX_OF[state], maxTimeMS: COUNT_MS })
    .catch(() => null)
}
