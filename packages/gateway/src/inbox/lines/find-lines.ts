import type { Document } from 'mongodb'
import type { ClaimsDeps } from '../claims/claims-deps.ts'
import { SEARCH_MS } from '../claims/find-due.ts'
import { EVENTS } from '../event-document.ts'
import { LINE_INDEX, LINE_STATES, OPEN_LINE_INDEX, OPEN_LINE_STATES } from './line-indexes.ts'
import type { WithOpenLineIndex } from './with-open-line-index.ts'

type FindLinesDeps = Pick<ClaimsDeps, 'db' | 'handler'>

/** Some lines of a handler, in the order of the index. */
interface LineSlice {
  readonly lines: readonly string[]
  /** Behind which line the next ones are. Null: there are no more. */
  readonly last: string | null
}

// The server reads ahead of a limit, about 4 MB of keys. So with a low one it would read the same lines many times.
const MOST_LINES = 10_000

/**
 * Finds the next lines that have open tasks, behind the given one. Without the index `line_open`, lines that only have dead
 * ones are also found.
 */
export function findLines(deps: FindLinesDeps, withIndex: WithOpenLineIndex, after: string): Promise<LineSlice> {
  return withIndex((isThere) => {
    const [hint, states] = isThere ? [OPEN_LINE_INDEX, OPEN_LINE_STATES] : [LINE_INDEX, LINE_STATES]
    const filter = { line: { $gt: after }, state: { $in: states } }
    return find(deps, filter, hint)
  })
}

/** The server reads one key of each line, and no record. */
async function find({ db, handler }: FindLinesDeps, filter: Document, hint: string): Promise<LineSlice> {
  const pipeline = [
    { $match: { handler, ...filter } },
    { $sort: IN_ORDER },
    { $group: { _id: '$line', first: { $first: '$_id' } } },
    { $limit: MOST_LINES },
  ]
  const options = { hint, maxTimeMS: SEARCH_MS, batchSize: MOST_LINES + 1 }
  const found = await db.collection(EVENTS).aggregate<{ readonly _id: string }>(pipeline, options).toArray()
  const lines = found.map(({ _id }) => _id)
  return { lines, last: lines.length < MOST_LINES ? null : (lines.at(-1) ?? null) }
}

const IN_ORDER = { handler: 1, line: 1, lineAt: 1, _id: 1 } as const
