import { CLOCK_STEP_MS } from '@oncehook/kernel/mongo/database-clock'
import { BY_DUE, DUE_INDEX, EVENTS } from '../event-document.ts'
import { timeOf } from '../record-expressions.ts'
import type { Claims } from './claims.ts'
import type { ClaimsDeps } from './claims-deps.ts'
import { SEARCH_MS } from './find-due.ts'
import { shareLook } from './shared-look.ts'

/** Whether a handler may have due tasks. */
export type MayHaveDue = (handler: string) => Promise<boolean>

type ProbeDeps = Pick<ClaimsDeps, 'db' | 'maxDelayMs' | 'monotonicMs'>

const SHARED_MS = 1_500
const IDLE_AFTER_MS = 10_000

/**
 * Creates the probe of a process. One search of the index finds the first pending task of every handler, and its result
 * serves all of them for a moment. If the first one waits for its provider, or has an odd time, the probe knows nothing
 * and says yes.
 */
export function createDueProbe(deps: ProbeDeps): MayHaveDue {
  const { maxDelayMs, monotonicMs: now = () => performance.now() } = deps
  const first = shareLook({ look: () => readFirst(deps), keepMs: () => SHARED_MS, now })
  return async (handler) => {
    const { value, ageMs } = await first()
    const dueInMs = value.get(handler)
    return dueInMs !== undefined && (dueInMs <= ageMs || dueInMs > maxDelayMs + CLOCK_STEP_MS)
  }
}

/** Handler -> milliseconds until its first pending task is due. */
async function readFirst({ db }: ProbeDeps): Promise<ReadonlyMap<string, number>> {
  const pipeline = [
    { $match: { state: 'pending' } },
    // In the order of the index, so that the first task of each handler is found without reading the others.
    { $sort: BY_DUE },
    { $group: { _id: '$handler', dueAt: { $first: '$dueAt' } } },
    { $project: { dueInMs: { $ifNull: [{ $subtract: [timeOf('dueAt'), '$$NOW'] }, 0] } } },
  ]
  const options = { hint: DUE_INDEX, maxTimeMS: SEARCH_MS }
  const found = db.collection(EVENTS).aggregate<{ _id: string; dueInMs: number }>(pipeline, options)
  return new Map((await found.toArray()).map(({ _id, dueInMs }) => [_id, dueInMs]))
}

/** Whose claims they are, and what they ask before they search. */
interface ProbedDeps {
  readonly handler: string
  readonly mayHaveDue: MayHaveDue
  /** Milliseconds that never go backwards. */
  readonly now: () => number
}

/**
 * The same claims. While they have nothing to do, they search for due tasks only if the probe of their process, which all
 * share, says that there may be some.
 */
export function probedClaims(claims: Claims, { handler, mayHaveDue, now }: ProbedDeps): Claims {
  let busyAt = now()
  const isBusy = (): boolean => now() - busyAt < IDLE_AFTER_MS
  return {
    ...claims,
    async claimDue(limit, isExpected = false) {
      if (!isBusy() && !isExpected && !(await mayHaveDue(handler))) return []
      const claimed = await claims.claimDue(limit)
      if (claimed.length > 0) busyAt = now()
      return claimed
    },
    settle(settled) {
      busyAt = now()
      return claims.settle(settled)
    },
    release(released) {
      busyAt = now()
      return claims.release(released)
    },
  }
}
