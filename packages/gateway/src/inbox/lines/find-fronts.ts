import type { Document, ObjectId } from 'mongodb'
import type { ClaimsDeps } from '../claims/claims-deps.ts'
import { EVENTS } from '../event-document.ts'
import type { Front } from './decide-turns.ts'
import { LINE_INDEX, LINE_STATES, OPEN_LINE_INDEX, OPEN_LINE_STATES } from './line-indexes.ts'

/** Finds the first open task of each of these lines. */
export type FindFronts = (lines: readonly string[], maxTimeMS: number) => Promise<ReadonlyMap<string, Front<ObjectId>>>

type FrontDeps = Pick<ClaimsDeps, 'db' | 'handler' | 'ordering'>

/** An index, and the part of a filter that fits it. */
interface Way {
  readonly hint: string
  readonly open: Document
}

const IS_OPEN = { state: { $in: OPEN_LINE_STATES } }
const IS_IN_LINE = { state: { $in: LINE_STATES } }

const WITHOUT_DEAD: Way = { hint: OPEN_LINE_INDEX, open: IS_OPEN }
const WITH_DEAD: Way = { hint: LINE_INDEX, open: IS_IN_LINE }

/** Creates the search of one process. If dead tasks block their lines, they are found too. */
export function createFindFronts(deps: FrontDeps): FindFronts {
  const way = deps.ordering?.blockOnDead === true ? WITH_DEAD : WITHOUT_DEAD
  return (lines, maxTimeMS) => find(deps, way, { lines, maxTimeMS })
}

interface Wanted {
  readonly lines: readonly string[]
  readonly maxTimeMS: number
}

interface FoundFront extends Omit<Front<ObjectId>, '_id'> {
  /** The line. */
  readonly _id: string
  readonly first: ObjectId
}

async function find(
  { db, handler }: FrontDeps,
  { hint, open }: Way,
  { lines, maxTimeMS }: Wanted,
): Promise<ReadonlyMap<string, Front<ObjectId>>> {
  const pipeline = [
    // With a single value, the server would read the whole line. No line has the empty name.
    { $match: { handler, line: { $in: ['', ...new Set(lines)] }, ...open } },
    // In the order of the index, so that the server reads one key of each line.
    { $sort: { handler: 1, line: 1, lineAt: 1, _id: 1 } },
    { $group: { _id: '$line', first: { $first: '$_id' }, ...OF_FIRST } },
  ]
  const found = db.collection(EVENTS).aggregate<FoundFront>(pipeline, { hint, maxTimeMS })
  return new Map((await found.toArray()).map(({ _id, first, ...front }) => [_id, { ...front, _id: first }]))
}

const OF_FIRST = Object.fromEntries(['state', 'dueAt'].map((name) => [name, { $first: `$${name}` }]))
