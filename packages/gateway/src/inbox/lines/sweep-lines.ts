import type { ClaimsDeps } from '../claims/claims-deps.ts'
import { SEARCH_MS } from '../claims/find-due.ts'
import { DUE_INDEX, EVENTS } from '../event-document.ts'
import { findLines } from './find-lines.ts'
import { IN_LINE_DUE_AT } from './line.ts'
import type { WakeLines } from './wake-lines.ts'

type SweepDeps = Pick<ClaimsDeps, 'db' | 'handler' | 'ordering' | 'monotonicMs'>

/** Looks through lines, and makes the first tasks due that wait although nothing is before them. */
export interface SweepLines {
  /** Looks through the next lines, for a limited time. Sweep after sweep, it looks through all. */
  sweep(): Promise<void>
  /** There are tasks in lines: the next sweep does not rest. */
  hasLines(): void
}

const AT_ONCE = 500
// Sweeps follow each other. A slice of lines usually takes some milliseconds.
const SWEEP_MS = 250
// Without the setting, only tasks of an earlier one can be in lines.
const REST_MS = 60_000
const BEFORE_ALL = ''

/** Creates the sweeps of one process: always with `orderBy`, and otherwise once a minute or if there were lines. */
export function createSweepLines(deps: SweepDeps, advanceFree: WakeLines['advanceFree']): SweepLines {
  const { ordering, monotonicMs = () => performance.now() } = deps
  let nextAt = Number.NEGATIVE_INFINITY
  // The lines that were found and not looked at yet, and behind which line the next ones are.
  let ahead: readonly string[] = []
  let after = BEFORE_ALL
  let limit = AT_ONCE
  const hasLines = (): void => {
    nextAt = Number.NEGATIVE_INFINITY
  }
  const lookAhead = async (): Promise<void> => {
    if (after === BEFORE_ALL && !(await anyWaits(deps))) return
    const { lines, last } = await findLines(deps, after)
    ahead = lines
    after = last ?? BEFORE_ALL
  }
  const sweepSlice = async (): Promise<void> => {
    if (ahead.length === 0) await lookAhead()
    if (ahead.length === 0) return
    hasLines()
    try {
      await advanceFree(ahead.slice(0, limit), SEARCH_MS)
      ahead = ahead.slice(limit)
      limit = AT_ONCE
    } catch (error) {
      // Smaller slices leave out only the line that cannot be advanced, and not those beside it.
      if (limit === 1) ahead = ahead.slice(1)
      limit = Math.max(1, limit >> 3)
      throw error
    }
  }
  return {
    hasLines,
    async sweep() {
      if (ordering === undefined && monotonicMs() < nextAt) return
      nextAt = monotonicMs() + REST_MS
      const endsAt = monotonicMs() + SWEEP_MS
      do await sweepSlice()
      while ((ahead.length > 0 || after !== BEFORE_ALL) && monotonicMs() < endsAt)
    },
  }
}

/** Whether any task waits in a line. If none does, a look at the lines would read the record of each first task for nothing. */
async function anyWaits({ db, handler }: SweepDeps): Promise<boolean> {
  const filter = { state: 'pending', handler, dueAt: IN_LINE_DUE_AT }
  const options = { hint: DUE_INDEX, maxTimeMS: SEARCH_MS, projection: { _id: 1 } }
  return (await db.collection(EVENTS).findOne(filter, options)) !== null
}
