import { CLOCK_STEP_MS } from '@oncehook/kernel/mongo/database-clock'
import { oneAtATime } from '@oncehook/kernel/time/waits'
import type { Db, Document } from 'mongodb'
import { SEARCH_MS } from '../due.ts'
import { timeOf } from '../expressions.ts'
import { BY_DUE, DUE_INDEX, EVENTS } from '../task.ts'
import type { Claims } from './claims.ts'
import type { Steadiness } from './steadiness.ts'

export type DueProbe = ReturnType<typeof createDueProbe>

/** Dependencies of the probe. `maxMs`: the longest time ahead that is ever set, for a delay or for the end of a claim. */
export interface DueProbeDeps {
  readonly db: Db
  readonly maxMs: number
  /** Learns whether the database answers, also while the process has nothing to do. */
  readonly steadiness: Pick<Steadiness, 'watch'>
  readonly now: () => number
}

// What becomes due meanwhile is known from the look before.
const SHARED_MS = 1_900
const IDLE_AFTER_MS = 10_000
// What is due by a clock that was ahead is not the first one while others wait, so the probe does not see it.
const UNASKED_AFTER_MS = 60_000

/**
 * Creates the probe of a process. One search of the index finds the first pending and the first processing task of every
 * handler. If the first one waits for its provider, or has an odd time, the probe knows nothing and says yes.
 */
export function createDueProbe({ db, maxMs, steadiness, now }: DueProbeDeps) {
  let latest: { readonly first: First; readonly at: number } | null = null
  const lookAgain = oneAtATime(async () => {
    const at = now()
    latest = { first: await steadiness.watch(readFirst(db)), at }
    return latest
  })
  const names = async (state: keyof First): Promise<string[]> => {
    const { first, at } = latest !== null && now() - latest.at < SHARED_MS ? latest : await lookAgain()
    const isDue = (ms: number): boolean => ms <= now() - at || ms > maxMs + CLOCK_STEP_MS
    return [...first[state]].filter(([, ms]) => isDue(ms)).map(([handler]) => handler)
  }
  return {
    mayHaveDue: async (handler: string): Promise<boolean> => (await names('pending')).includes(handler),
    suspected: (): Promise<string[]> => names('processing'),
  }
}

/** Handler -> milliseconds until its first task is due. */
interface First {
  readonly pending: ReadonlyMap<string, number>
  readonly processing: ReadonlyMap<string, number>
}

/** One command for both states. Without the index, the server refuses it instead of reading every record. */
async function readFirst(db: Db): Promise<First> {
  const pipeline = [...firstOf('pending'), { $unionWith: { coll: EVENTS, pipeline: firstOf('processing') } }]
  const options = { hint: DUE_INDEX, maxTimeMS: SEARCH_MS }
  const found = await db.collection(EVENTS).aggregate<FoundFirst>(pipeline, options).toArray()
  const inState = (state: keyof First): ReadonlyMap<string, number> =>
    new Map(found.filter(({ of }) => of === state).map(({ _id, dueInMs }) => [_id, dueInMs]))
  return { pending: inState('pending'), processing: inState('processing') }
}

interface FoundFirst {
  readonly _id: string
  readonly of: keyof First
  readonly dueInMs: number
}

/** In the order of the index, so that the first task of each handler is found without reading the others. */
function firstOf(state: keyof First): Document[] {
  return [
    { $match: { state } },
    { $sort: BY_DUE },
    { $group: { _id: '$handler', dueAt: { $first: '$dueAt' } } },
    { $project: { of: { $literal: state }, dueInMs: { $ifNull: [{ $subtract: [timeOf('dueAt'), '$$NOW'] }, 0] } } },
  ]
}

interface Probed {
  readonly handler: string
  readonly probe: Pick<DueProbe, 'mayHaveDue'>
  readonly now: () => number
}

/**
 * The same claims. While they have nothing to do, they search for due tasks only if the probe of their process, which all share, says
 * that there may be some, or once a minute.
 */
export function probedClaims(claims: Claims, { handler, probe, now }: Probed): Claims {
  let busyAt = now()
  let searchedAt = now()
  const isBusy = (): boolean => now() - busyAt < IDLE_AFTER_MS
  return {
    ...claims,
    async claimDue(limit, isExpected = false) {
      const isKnown = isBusy() || isExpected || now() - searchedAt >= UNASKED_AFTER_MS
      if (!isKnown && !(await probe.mayHaveDue(handler))) return []
      searchedAt = now()
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
