import { DUE_INDEX, EVENTS, IN_LINE_DUE_AT, lastErrorOf } from '@oncehook/queue/task'
import type { Db } from 'mongodb'
import type { EventDocument } from '../event-document.ts'

/** Pending tasks of a handler that have failed at least three times in a row. */
export interface FailingTasks {
  readonly tasks: number
  /** The newest error among them: its code, what the handler answered, and when. */
  readonly lastError: { readonly code: string; readonly message: string; readonly at: Date }
}

const MOST_EXAMINED = 20
const OFTEN = 3
const SEARCH_MS = 3_000
const EPOCH = new Date(0)

/**
 * Finds out for each of these handlers whether its pending tasks fail again and again. The more often a task has failed, the
 * later it is due, so those that are due last are read. It reads for one handler after the other, and for at most three
 * seconds in all: it shares its connections with the dispatchers. A handler is left out if it has no such tasks, or if there
 * was no answer in time. Never throws.
 */
export async function readFailingTasks(db: Db, handlers: Iterable<string>): Promise<ReadonlyMap<string, FailingTasks>> {
  const found = new Map<string, FailingTasks>()
  const endsAt = performance.now() + SEARCH_MS
  try {
    for (const handler of handlers) {
      const leftMs = Math.floor(endsAt - performance.now())
      if (leftMs < 1) break
      const failing = await readOne(db, handler, leftMs)
      if (failing !== null) found.set(handler, failing)
    }
  } catch {
    // The others would have to wait for the same database.
  }
  return found
}

async function readOne(db: Db, handler: string, maxTimeMS: number): Promise<FailingTasks | null> {
  // Tasks that wait in line or for a provider have a later due time.
  const filter = { state: 'pending', handler, dueAt: { $gt: EPOCH, $lt: IN_LINE_DUE_AT } } as const
  const waiting = await db
    .collection<EventDocument>(EVENTS)
    .find(filter, { hint: DUE_INDEX, maxTimeMS })
    .sort({ dueAt: -1 })
    .limit(MOST_EXAMINED)
    .project<Pick<EventDocument, 'failing' | 'attempts'>>({ _id: 0, failing: 1, attempts: { $slice: -1 } })
    .toArray()
  const errors = waiting.flatMap(({ failing, attempts }) =>
    (failing?.times ?? 0) >= OFTEN ? (lastErrorOf(attempts ?? []) ?? []) : [],
  )
  const [newest] = errors.toSorted((a, b) => b.at.getTime() - a.at.getTime())
  return newest === undefined ? null : { tasks: errors.length, lastError: newest }
}
