import type { ClaimsDeps } from '../claims/claims-deps.ts'
import { SEARCH_MS } from '../claims/find-due.ts'
import { EVENTS } from '../event-document.ts'
import { OPEN_LINE_INDEX, OPEN_LINE_STATES } from './line-indexes.ts'

type FindLinesDeps = Pick<ClaimsDeps, 'db' | 'handler'>

/** Some lines of a handler, in the order of the index. */
interface LineSlice {
  readonly lines: readonly string[]
  /** Behind which line the next ones are. Null: there are no more. */
  readonly last: string | null
}

// The server reads ahead of a limit, about 4 MB of keys. So with a low one it would read the same lines many times.
const MOST_LINES = 10_000

/** Finds the next lines that have open tasks, behind the given one. The server reads one key of each line, and no record. */
export async function findLines({ db, handler }: FindLinesDeps, after: string): Promise<LineSlice> {
  const pipeline = [
    { $match: { handler, line: { $gt: after }, state: { $in: OPEN_LINE_STATES } } },
    { $sort: IN_ORDER },
    { $group: { _id: '$line', first: { $first: '$_id' } } },
    { $limit: MOST_LINES },
  ]
  const options = { hint: OPEN_LINE_INDEX, maxTimeMS: SEARCH_MS, batchSize: MOST_LINES + 1 }
  const found = await db.collection(EVENTS).aggregate<{ readonly _id: string }>(pipeline, options).toArray()
  const lines = found.map(({ _id }) => _id)
  return { lines, last: lines.length < MOST_LINES ? null : (lines.at(-1) ?? null) }
}

const IN_ORDER = { handler: 1, line: 1, lineAt: 1, _id: 1 } as const
