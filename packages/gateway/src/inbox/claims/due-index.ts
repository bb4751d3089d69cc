import type { Db } from 'mongodb'
import { DUE_INDEX, EVENTS, TASK_DUE_INDEX } from '../event-document.ts'
import type { ClaimsDeps } from './claims-deps.ts'
import { isIndexMissing } from './index-missing.ts'

/** An index for searches of due records, and the order in which it has them. */
type DueOrder = typeof BY_DUE | typeof BY_HANDLER

const BY_DUE = { hint: DUE_INDEX, sort: { state: 1, dueAt: 1, _id: 1 } } as const
const BY_HANDLER = { hint: TASK_DUE_INDEX, sort: { state: 1, handler: 1, dueAt: 1, _id: 1 } } as const

/** Chooses the index of searches for due records. */
export interface DueIndex {
  /** Searches with the index by handler if there is one. Without it, tasks of handlers would be read and dropped. */
  search<T>(run: (order: DueOrder) => Promise<T>): Promise<T>
}

const LOOK_MS = 60_000

/**
 * Creates the choice of one process. If handlers are configured, it is the index by handler. If not, the database decides:
 * a gateway with handlers may have made that index, or may make it later. Until it is there, this process looks for it
 * once a minute, before a search.
 */
export function createDueIndex({
  db,
  handler,
  monotonicMs = () => performance.now(),
}: Pick<ClaimsDeps, 'db' | 'handler' | 'monotonicMs'>): DueIndex {
  if (handler !== undefined) return { search: (run) => run(BY_HANDLER) }
  let isByHandler = false
  let nextLookAt = Number.NEGATIVE_INFINITY
  const look = async (): Promise<void> => {
    if (isByHandler || monotonicMs() < nextLookAt) return
    nextLookAt = monotonicMs() + LOOK_MS
    isByHandler = await hasTaskIndex(db)
  }
  return {
    async search(run) {
      await look()
      if (!isByHandler) return run(BY_DUE)
      try {
        return await run(BY_HANDLER)
      } catch (error) {
        // It is still being built, or was dropped.
        if (!isIndexMissing(error)) throw error
        isByHandler = false
        nextLookAt = monotonicMs() + LOOK_MS
        return run(BY_DUE)
      }
    },
  }
}

/** If the database does not answer, the search that follows reports that. */
async function hasTaskIndex(db: Db): Promise<boolean> {
  try {
    return (await db.collection(EVENTS).indexes()).some(({ name }) => name === TASK_DUE_INDEX)
  } catch {
    return false
  }
}
