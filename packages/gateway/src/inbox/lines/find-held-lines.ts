import type { ClaimsDeps } from '../claims/claims-deps.ts'
import { SEARCH_MS } from '../claims/find-due.ts'
import { EVENTS } from '../event-document.ts'
import { LINE_HELD_INDEX } from './line-indexes.ts'

/** Finds those of these lines of which a task is processed. */
export async function findHeldLines(
  { db, handler }: Pick<ClaimsDeps, 'db' | 'handler'>,
  lines: readonly string[],
): Promise<ReadonlySet<string>> {
  if (lines.length === 0) return new Set()
  const filter = { handler, line: { $in: [...new Set(lines)] }, state: 'processing' }
  const options = { hint: LINE_HELD_INDEX, maxTimeMS: SEARCH_MS }
  const found = db.collection(EVENTS).find(filter, options).project<{ readonly line: string }>({ _id: 0, line: 1 })
  return new Set((await found.toArray()).map(({ line }) => line))
}
