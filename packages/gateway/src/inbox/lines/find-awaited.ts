import type { Db, ObjectId } from 'mongodb'
import type { EventDocument } from '../event-document.ts'
import { createFindFronts } from './find-fronts.ts'

/** A task, as far as it decides for which other one it waits. */
type LinedTask = Pick<EventDocument, '_id' | 'state' | 'handler' | 'line'>

const SEARCH_MS = 1_000

/**
 * Finds the first open task of the line of a pending task, with one key of an index: the one that has to be settled before it
 * is sent. Null if it is the first itself, or in no line. `blockOnDead`: whether a dead one counts as open.
 */
export async function findAwaited(
  db: Db,
  { _id, state, handler, line }: LinedTask,
  blockOnDead: boolean,
): Promise<ObjectId | null> {
  if (state !== 'pending' || line === undefined) return null
  const findFronts = createFindFronts({ db, handler, ordering: { blockOnDead } })
  const front = (await findFronts([line], SEARCH_MS)).get(line)
  return front === undefined || String(front._id) === String(_id) ? null : front._id
}
