import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import type { Document, ObjectId } from 'mongodb'
import type { ClaimsDeps } from '../claims/claims-deps.ts'
import { type DueRecord, findDue, SEARCH_MS, type SearchDeps } from '../claims/find-due.ts'
import { isIndexMissing } from '../claims/index-missing.ts'
import { BY_ID } from '../claims/take-claims.ts'
import { EVENTS } from '../event-document.ts'
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
 * settled stays so, unless an operator or a redelivery makes it due again. Hence the task is still the first one when it is
 * claimed, however late that is, and by any process.
 *
 * Why two tasks of a line never run at the same time, even if both were received at once or one is replayed: the
 * unique index `line_held` has room for one that is processed.
 *
 * Why none waits forever. A task that must wait gets a due time that no search reads. The process that settles a task then looks
 * at the first one of the line and makes it due, and the process that lets a task wait looks once more after that. One of the two
 * sees what the other wrote. If a process dies in between, the `sweep` of any process finds the line.
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
  /** Makes the first tasks of all lines due that still wait, because a process died before it did so. */
  sweep(): Promise<void>
}

interface Admitted {
  readonly claimable: readonly DueRecord[]
  /** How many have to wait. */
  readonly waiting: number
}

const AT_ONCE = 500
const IS_PENDING = { state: 'pending' }
const IS_WAITING = { state: 'pending', dueAt: IN_LINE_DUE_AT }

/** Creates the view of one process. A task is in the line that was stored with it, whatever the setting says now. */
export function createLines(deps: LinesDeps): Lines {
  const { db, isSharded, handler, ordering } = deps
  // Tasks of an earlier setting may still be in lines.
  let mayHaveLines = typeof handler === 'string'
  const open = openStates(ordering?.blockOnDead === true)
  const readFronts = async (line: Document, ...stages: readonly Document[]): Promise<FoundFront[]> => {
    const pipeline = [
      { $match: { handler, line, ...open } },
      // In the order of the index, so that the server reads one key of each line.
      { $sort: { handler: 1, line: 1, lineAt: 1, _id: 1 } },
      { $group: { _id: '$line', first: { $first: '$_id' }, ...FIRST_STATE } },
      ...stages,
    ]
    const options = { hint: LINE_INDEX, maxTimeMS: SEARCH_MS }
    return db.collection(EVENTS).aggregate<FoundFront>(pipeline, options).toArray()
  }
  const frontsOf = async (lines: readonly string[]): Promise<ReadonlyMap<string, Front<ObjectId>>> => {
    // With a single value, the server would read the whole line. No line has the empty name.
    const found = await readFronts({ $in: ['', ...new Set(lines)] })
    return new Map(found.map(({ _id, first, state, dueAt }) => [_id, { _id: first, state, dueAt }]))
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
    await wakeAll(decideTurns<ObjectId, LinedRecord>([], await frontsOf(lines)).woken)
  }
  const letWait = async (waiting: readonly LinedRecord[]): Promise<void> => {
    if (waiting.length === 0) return
    const ids = waiting.map(({ _id }) => _id)
    await write(ids, { ...IS_PENDING, handler }, postpone(IN_LINE_DUE_AT))
    await advance(waiting.map(({ line }) => line))
  }
  const separate = async (lined: readonly LinedRecord[]): Promise<readonly LinedRecord[]> => {
    const { claimable, waiting, woken } = decideTurns(lined, await frontsOf(lined.map(({ line }) => line)))
    await wakeAll(woken)
    await letWait(waiting)
    return claimable
  }
  /** A long line is moved out of the search in large steps, so that it holds up nothing else. */
  const clear = async (): Promise<void> => {
    const found = await findDue(deps, { limit: AT_ONCE, timed: AT_ONCE >> 1, part: null })
    await separate(found.filter(isLined))
  }
  const wakeFronts = async (): Promise<void> => {
    const fronts = await readFronts({ $gt: '' }, { $match: IS_WAITING }, { $limit: AT_ONCE })
    await wakeAll(fronts.map(({ first }) => first))
  }
  return {
    async admit(due) {
      const lined = due.filter(isLined)
      if (lined.length === 0) return { claimable: due, waiting: 0 }
      mayHaveLines = true
      const claimable = new Set<DueRecord>(await separate(lined))
      const waiting = lined.length - claimable.size
      if (waiting === due.length) await clear()
      return { claimable: due.filter((record) => !isLined(record) || claimable.has(record)), waiting }
    },
    advance,
    async sweep() {
      if (ordering === undefined && !mayHaveLines) return
      try {
        mayHaveLines = ordering !== undefined || (await hasLines(deps))
        if (mayHaveLines) await wakeFronts()
      } catch (error) {
        // It is being built. Until then, no task that is in a line is claimed.
        if (!isIndexMissing(error)) throw error
      }
    },
  }
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

function isLined(record: DueRecord): record is LinedRecord {
  return typeof record.line === 'string'
}

async function hasLines({ db, handler }: LinesDeps): Promise<boolean> {
  const filter = { handler, line: { $gt: '' }, ...openStates(false) }
  const found = await db.collection(EVENTS).findOne(filter, { hint: LINE_INDEX, maxTimeMS: SEARCH_MS })
  return found !== null
}
