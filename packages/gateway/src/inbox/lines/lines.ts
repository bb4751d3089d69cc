import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import type { Document, ObjectId } from 'mongodb'
import type { ClaimsDeps } from '../claims/claims-deps.ts'
import { type DueRecord, findDue, isDue, SEARCH_MS, type SearchDeps } from '../claims/find-due.ts'
import { BY_ID } from '../claims/take-claims.ts'
import { EVENTS, TASK_DUE_INDEX } from '../event-document.ts'
import { splitRecords } from '../slots/name-records.ts'
import { postpone, wake } from '../transitions.ts'
import { decideTurns, type Front } from './decide-turns.ts'
import { IN_LINE_DUE_AT } from './line.ts'
import { LINE_INDEX, LINE_STATES } from './line-indexes.ts'

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
 * unique index `line_held` has room for one that is processed.
 *
 * Why none waits forever. A task that must wait gets a due time that no search reads. The process that settles a task then looks
 * at the first one of the line and makes it due, and the process that lets a task wait looks once more after that. One of the two
 * sees what the other wrote. If a process dies in between, a `sweep` of any process finds the line.
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
  const { db, isSharded, handler, ordering } = deps
  const nextSweep = createSweepPace(deps)
  let sweptTo: ObjectId | null = null
  const open = openStates(ordering?.blockOnDead === true)
  const frontsOf = async (
    lines: readonly string[],
    maxTimeMS: number,
  ): Promise<ReadonlyMap<string, Front<ObjectId>>> => {
    const pipeline = [
      // With a single value, the server would read the whole line. No line has the empty name.
      { $match: { handler, line: { $in: ['', ...new Set(lines)] }, ...open } },
      // In the order of the index, so that the server reads one key of each line.
      { $sort: { handler: 1, line: 1, lineAt: 1, _id: 1 } },
      { $group: { _id: '$line', first: { $first: '$_id' }, ...FIRST_STATE } },
    ]
    const found = db.collection(EVENTS).aggregate<FoundFront>(pipeline, { hint: LINE_INDEX, maxTimeMS })
    return new Map((await found.toArray()).map(({ _id, first, state, dueAt }) => [_id, { _id: first, state, dueAt }]))
  }
  const write = async (ids: readonly ObjectId[], filter: Document, u: Document[]): Promise<void> => {
    const records = ids.map((_id) => ({ _id }))
    const named = records.length === 0 ? [] : splitRecords(records, isSharded)
    const updates = named.map((one) => ({ q: { ...one, ...filter }, u, multi: true, hint: BY_ID }))
    await bulkUpdate(db, { update: EVENTS, updates })
  }
  const wakeAll = (ids: readonly ObjectId[]): Promise<void> => write(ids, IS_WAITING, wake())
  const advance = async (lines: readonly string[]): Promise<void> => {
    if (lines.length === 0) return
    await wakeAll(decideTurns<ObjectId, LinedRecord>([], await frontsOf(lines, ADVANCE_MS)).woken)
  }
  const letWait = async (waiting: readonly LinedRecord[]): Promise<void> => {
    if (waiting.length === 0) return
    const ids = waiting.map(({ _id }) => _id)
    // One that was tried meanwhile and has a later time keeps it.
    await write(ids, isDue(deps), postpone(IN_LINE_DUE_AT))
    await advance(linesIn(waiting))
  }
  const separate = async (lined: readonly LinedRecord[]): Promise<readonly LinedRecord[]> => {
    const { claimable, waiting, woken } = decideTurns(lined, await frontsOf(linesIn(lined), SEARCH_MS))
    await wakeAll(woken)
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
    advance,
    async sweep() {
      if (!nextSweep.isTime) return
      const waiting = await findWaiting(deps, sweptTo)
      sweptTo = waiting.length < AT_ONCE ? null : (waiting.at(-1)?._id ?? null)
      if (waiting.length === 0) return
      nextSweep.hasLines()
      await advance([...new Set(linesIn(waiting))])
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
  return found.project<LinedRecord>({ line: 1 }).toArray()
}

const FIRST_STATE = Object.fromEntries(['state', 'dueAt'].map((name) => [name, { $first: `$${name}` }]))

interface FoundFront extends Pick<Front<ObjectId>, 'state' | 'dueAt'> {
  /** The line. */
  readonly _id: string
  readonly first: ObjectId
}

const IS_IN_LINE = { state: { $in: LINE_STATES } }
const IS_UNSETTLED = { state: { $in: ['pending', 'processing'] } }

/** Matches the tasks for which later ones wait. */
function openStates(isDeadOpen: boolean): Document {
  return isDeadOpen ? IS_IN_LINE : { $and: [IS_IN_LINE, IS_UNSETTLED] }
}

function linesIn(records: readonly LinedRecord[]): string[] {
  return records.map(({ line }) => line)
}

function isLined(record: DueRecord): record is LinedRecord {
  return typeof record.line === 'string'
}
