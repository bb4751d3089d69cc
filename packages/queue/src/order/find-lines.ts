import type { Db, ObjectId } from 'mongodb'
import { SEARCH_MS } from '../due.ts'
import {
  BLOCKS_LINE_DUE_AT,
  EVENTS,
  IN_LINE_ORDER,
  IS_OPEN,
  LINE_HELD_INDEX,
  LINE_INDEX,
  type TaskDocument,
} from '../task.ts'
import type { Front } from './turns.ts'

export interface LinesOf {
  readonly db: Db
  readonly handler: string
}

interface FoundFront extends Omit<Front<ObjectId>, '_id'> {
  readonly _id: string
  readonly first: ObjectId
}

export async function findFronts(
  { db, handler }: LinesOf,
  lines: readonly string[],
  maxTimeMS: number,
): Promise<ReadonlyMap<string, Front<ObjectId>>> {
  const pipeline = [
    // With a single value, the server would read the whole line. No line has the empty name.
    { $match: { handler, line: { $in: ['', ...new Set(lines)] }, ...IS_OPEN } },
    // In the order of the index, so that the server reads one key of each line.
    { $sort: IN_LINE_ORDER },
    { $group: { _id: '$line', first: { $first: '$_id' }, state: { $first: '$state' }, dueAt: { $first: '$dueAt' } } },
  ]
  const found = db.collection(EVENTS).aggregate<FoundFront>(pipeline, { hint: LINE_INDEX, maxTimeMS })
  return new Map((await found.toArray()).map(({ _id, first, ...front }) => [_id, { ...front, _id: first }]))
}

interface LineSlice {
  readonly lines: readonly string[]
  /** Behind which line the next ones are. Null: there are no more. */
  readonly last: string | null
}

// The server reads ahead of a limit, about 4 MB of keys. So with a low one it would read the same lines many times.
const MOST_LINES = 10_000

/**
 * Finds the next lines that have open tasks, behind the given one. `blockOnDead`: without those that a dead task blocks. The server
 * reads one key of each line, and no record.
 */
export async function findLines({ db, handler }: LinesOf, after: string, blockOnDead: boolean): Promise<LineSlice> {
  const pipeline = [
    { $match: { handler, line: { $gt: after }, ...IS_OPEN } },
    { $sort: IN_LINE_ORDER },
    { $group: { _id: '$line', first: { $first: '$_id' }, dueAt: { $first: '$dueAt' } } },
    ...(blockOnDead ? [{ $match: { dueAt: { $ne: BLOCKS_LINE_DUE_AT } } }] : []),
    { $limit: MOST_LINES },
  ]
  const options = { hint: LINE_INDEX, maxTimeMS: SEARCH_MS, batchSize: MOST_LINES + 1 }
  const found = await db.collection(EVENTS).aggregate<{ readonly _id: string }>(pipeline, options).toArray()
  const lines = found.map(({ _id }) => _id)
  return { lines, last: lines.length < MOST_LINES ? null : (lines.at(-1) ?? null) }
}

export async function findHeldLines({ db, handler }: LinesOf, lines: readonly string[]): Promise<ReadonlySet<string>> {
  if (lines.length === 0) return new Set()
  const filter = { handler, line: { $in: [...new Set(lines)] }, state: 'processing' }
  const options = { hint: LINE_HELD_INDEX, maxTimeMS: SEARCH_MS }
  const found = db.collection(EVENTS).find(filter, options).project<{ readonly line: string }>({ _id: 0, line: 1 })
  return new Set((await found.toArray()).map(({ line }) => line))
}

/** A task, as far as it decides for which other one it waits. */
type LinedTask = Pick<TaskDocument, '_id' | 'state' | 'handler' | 'line'>

const AWAITED_MS = 1_000

/**
 * Finds the first open task of the line of a pending task, with one key of an index: the one that has to be settled before it
 * is sent. Null if it is the first itself, or in no line. `blockOnDead`: whether it waits for a dead one.
 */
export async function findAwaited(
  db: Db,
  { _id, state, handler, line }: LinedTask,
  blockOnDead: boolean,
): Promise<ObjectId | null> {
  if (state !== 'pending' || line === undefined) return null
  const front = (await findFronts({ db, handler }, [line], AWAITED_MS)).get(line)
  if (front === undefined || (front.state === 'dead' && !blockOnDead)) return null
  return String(front._id) === String(_id) ? null : front._id
}
