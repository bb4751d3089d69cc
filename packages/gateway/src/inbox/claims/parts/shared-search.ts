import type { ClaimsDeps } from '../claims-deps.ts'
import { type DueRecord, findDue, type SearchDeps } from '../find-due.ts'
import type { Owners } from '../takeover/owners.ts'
import { type Part, partOf } from './part.ts'

/**
 * The search for due records in one of several processes. It begins with everything. If another process took some of a
 * full search, both were working on one backlog: from then on, this one searches its own part of it, so that both find
 * different records. It is only a matter of cost: whatever a search finds is claimed under a condition.
 *
 * It searches everything again as soon as its part has fewer due records than it wants, and after some searches in any
 * case. So no record waits for one process only, even if that process is alive but never searches.
 */
export interface SharedSearch {
  /** Finds up to `limit` due records. `timed` of them are for records whose time has come, if new ones fill the rest. */
  find(limit: number, timed: number): Promise<DueRecord[]>
  /** Whether the last search was for everything. */
  readonly wasWhole: boolean
  /** Says how many of the records of the last search another process took. */
  report(lost: number): void
}

/** After this number of searches of its part, a process searches everything once. */
export const PART_SEARCHES = 16
/**
 * How long a process whose part was empty searches everything, in milliseconds. To find out that a part is empty, the
 * server examines the keys of all others, which may be many.
 */
export const REST_MS = 30_000

/** Creates the search of one process. */
export function createSharedSearch(deps: ClaimsDeps & SearchDeps, owners: Pick<Owners, 'findLiving'>): SharedSearch {
  const { owner, monotonicMs = () => performance.now() } = deps
  let part: Part | null = null
  let left = 0
  let isContended = false
  let [wasWhole, wasFull] = [true, false]
  let restsUntil = Number.NEGATIVE_INFINITY
  const leavePart = (): void => {
    part = null
    restsUntil = monotonicMs() + REST_MS
  }
  const takePart = async (): Promise<void> => {
    isContended = false
    part = partOf(owner, await owners.findLiving())
    left = PART_SEARCHES
    if (part === null) leavePart()
  }
  const findInPart = async (own: Part, limit: number, timed: number): Promise<DueRecord[]> => {
    try {
      const found = await findDue(deps, { limit, timed, part: own })
      left -= 1
      if (left === 0) part = null
      if (found.length < limit) leavePart()
      return found
    } catch (error) {
      // The keys of the other parts may have been too many for the time of a search.
      leavePart()
      throw error
    }
  }
  return {
    async find(limit, timed) {
      if (isContended) await takePart()
      wasWhole = part === null
      if (part !== null) return findInPart(part, limit, timed)
      const found = await findDue(deps, { limit, timed, part: null })
      wasFull = found.length === limit
      if (!wasFull) restsUntil = Number.NEGATIVE_INFINITY
      return found
    },
    get wasWhole() {
      return wasWhole
    },
    report(lost) {
      if (wasWhole && wasFull && lost > 0 && monotonicMs() >= restsUntil) isContended = true
    },
  }
}
