import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import type { Document, ObjectId } from 'mongodb'
import type { ClaimsDeps } from '../claims/claims-deps.ts'
import { type DueRecord, findDue, isDue, SEARCH_MS, type SearchDeps } from '../claims/find-due.ts'
import { BY_ID } from '../claims/take-claims.ts'
import { EVENTS, TASK_DUE_INDEX } from '../event-document.ts'
import { type NamedRecord, splitRecords } from '../slots/name-records.ts'
import { postpone, wake } from '../transitions.ts'
import { decideTurns, type WaitingFront } from './decide-turns.ts'
import { createFindFronts, type FindFronts } from './find-fronts.ts'
import { findHeldLines } from './find-held-lines.ts'
import { IN_LINE_DUE_AT } from './line.ts'

/*
 * The lines of a handler with `orderBy`: tasks with the same value, in the order of `lineAt`. The server sets `lineAt` when
 * it inserts a task, from the cluster time, which also grows across elections. So if one delivery was answered
 * before another was received, its task comes first, whatever the clocks of the gateways say.
 *
 * Why a task never runs before an earlier one. It is claimed only after a read that found it first among the open tasks of
 * its line. A read that shows a task also shows every task that was stored before it. And what a read has found to be
 * settled stays so, unless an operator or a redelivery makes it due again, or a new primary has lost its outcome. Hence the task is still the first one when it is
 * claimed, however late that is, and by any process.
 *
 * Why two tasks of a line never run at the same time, even if both were received at once or one is replayed: the
 * unique index `line_held` has room for one that is processed. A first task that is refused for that reason waits as the
 * others do. Otherwise every search would find it again, before the due tasks of other lines.
 *
 * Why none waits forever. A task that must wait gets a due time that no search reads. The process that writes the outcome
 * of a task then looks at the first one of the line and makes it due, and the process that lets a task wait looks once more
 * after that. One of the two sees what the other wrote. If a process dies in between, a `sweep` of any process finds the line.
 */

/** What the lines need. */
type LinesDeps = ClaimsDeps & SearchDeps

interface LinedRecord extends DueRecord {
  readonly line: string
}

/** The lines of one handler, as its claims use them. */
export interface Lines {
  /** Those of some due records that may be claimed now. The others wait, and no search finds them. */
  admit(due: readonly DueRecord[]): Promise<Admitted>
  /** Lets first tasks wait that could not be claimed, because a later one of their lines is processed. */
  letWait(refused: readonly DueRecord[]): Promise<void>
  /** Makes the first task of each of these lines due if it waits. */
  advance(lines: readonly string[]): Promise<void>
  /**
   * Looks through some of the tasks that wait, and makes the first ones of their lines due: a process may have died before it did
   * so. Sweep after sweep, it looks through all.
   */
  sweep(): Promise<void>
}

interface Admitted {
  readonly claimable: readonly DueRecord[]
  /** How many have to wait. */
  readonly waiting: number
}

const AT_ONCE = 500
// The outcomes of other tasks wait meanwhile. If it takes longer, the next sweep makes up for it.
const ADVANCE_MS = 1_000
const IS_WAITING = { state: 'pending', dueAt: IN_LINE_DUE_AT }

/** Creates the view of one process. A task is in the line that was stored with it, whatever the setting says now. */
export function createLines(deps: LinesDeps): Lines {
  const nextSweep = createSweepPace(deps)
  let sweptTo: ObjectId | null = null
  const findFronts = createFindFronts(deps)
  const { advance, advanceFree, wakeFree, letWait } = createWaking(deps, findFronts)
  const separate = async (lined: readonly LinedRecord[]): Promise<readonly LinedRecord[]> => {
    const { claimable, waiting, woken } = decideTurns(lined, await findFronts(linesIn(lined), SEARCH_MS))
    await wakeFree(woken)
    await letWait(waiting)
    return claimable
  }
  /** A long line is moved out of the search in large steps, so that it holds up nothing else. */
  const clear = async (): Promise<void> => {
    const found = await findDue(deps, { limit: AT_ONCE, timed: AT_ONCE >> 1, part: null })
    await separate(found.filter(isLined))
  }
  return {
    async admit(due) {
      const lined = due.filter(isLined)
      if (lined.length === 0) return { claimable: due, waiting: 0 }
      nextSweep.hasLines()
      const claimable = new Set<DueRecord>(await separate(lined))
      const waiting = lined.length - claimable.size
      if (waiting === due.length) await clear()
      return { claimable: due.filter((record) => !isLined(record) || claimable.has(record)), waiting }
    },
    letWait: (refused) => letWait(refused.filter(isLined)),
    advance,
    async sweep() {
      if (!nextSweep.isTime) return
      const waiting = await findWaiting(deps, sweptTo)
      sweptTo = waiting.length < AT_ONCE ? null : (waiting.at(-1)?._id ?? null)
      if (waiting.length === 0) return
      nextSweep.hasLines()
      await advanceFree([...new Set(linesIn(waiting))])
    },
  }
}

/** Creates what lets tasks wait, and makes first ones due that wait. */
function createWaking(deps: LinesDeps, findFronts: FindFronts) {
  const write = async (records: readonly NamedRecord[], filter: Document, u: Document[]) => {
    const named = records.length === 0 ? [] : splitRecords(records, deps.isSharded)
    const updates = named.map((one) => ({ q: { ...one, ...filter }, u, multi: true, hint: BY_ID }))
    await bulkUpdate(deps.db, { update: EVENTS, updates })
  }
  const wakeAll = (woken: readonly WaitingFront<ObjectId>[]): Promise<void> => write(woken, IS_WAITING, wake())
  const findForgotten = async (lines: readonly string[]): Promise<readonly WaitingFront<ObjectId>[]> => {
    if (lines.length === 0) return []
    return decideTurns<ObjectId, LinedRecord>([], await findFronts(lines, ADVANCE_MS)).woken
  }
  /** If another task of the line is processed, its end wakes the first one. Claimed before, it would be refused. */
  const wakeFree = async (woken: readonly WaitingFront<ObjectId>[]): Promise<void> => {
    const held = await findHeldLines(deps, linesIn(woken))
    await wakeAll(woken.filter(({ line }) => !held.has(line)))
  }
  const advanceFree = async (lines: readonly string[]): Promise<void> => wakeFree(await findForgotten(lines))
  return {
    wakeFree,
    advanceFree,
    /** After one task of each of these lines has ended. */
    advance: async (lines: readonly string[]): Promise<void> => wakeAll(await findForgotten(lines)),
    async letWait(waiting: readonly LinedRecord[]): Promise<void> {
      if (waiting.length === 0) return
      // One that was tried meanwhile and has a later time keeps it.
      await write(waiting, isDue(deps), postpone(IN_LINE_DUE_AT))
      await advanceFree(linesIn(waiting))
    },
  }
}

// Without the setting, only tasks of an earlier one can be in lines.
const SWEEP_REST_MS = 60_000

/** When the tasks that wait are looked through: always with `orderBy`, and otherwise once a minute or if there were some. */
function createSweepPace({ handler, ordering, monotonicMs = () => performance.now() }: LinesDeps) {
  let nextAt = Number.NEGATIVE_INFINITY
  return {
    get isTime(): boolean {
      if (typeof handler !== 'string' || (ordering === undefined && monotonicMs() < nextAt)) return false
      nextAt = monotonicMs() + SWEEP_REST_MS
      return true
    },
    hasLines(): void {
      nextAt = Number.NEGATIVE_INFINITY
    },
  }
}

/** Some of the tasks that wait for an earlier one, in the order of their ids, behind the given one. */
function findWaiting({ db, handler }: LinesDeps, after: ObjectId | null): Promise<LinedRecord[]> {
  const filter = { ...IS_WAITING, handler, ...(after === null ? {} : { _id: { $gt: after } }) }
  const options = { hint: TASK_DUE_INDEX, maxTimeMS: SEARCH_MS }
  const found = db
    .collection<LinedRecord>(EVENTS)
    .find(filter as Document, options)
    .sort({ _id: 1 })
    .limit(AT_ONCE)
  return found.project<LinedRecord>({ slot: 1, line: 1 }).toArray()
}

function linesIn(records: readonly { readonly line: string }[]): string[] {
  return records.map(({ line }) => line)
}

function isLined(record: DueRecord): record is LinedRecord {
  return typeof record.line === 'string'
}
