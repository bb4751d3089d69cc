import type { ClaimsDeps } from '../claims/claims-deps.ts'
import { type DueRecord, findDue, isDue, SEARCH_MS } from '../claims/find-due.ts'
import { postpone } from '../transitions.ts'
import { decideTurns } from './decide-turns.ts'
import { createFindFronts } from './find-fronts.ts'
import { IN_LINE_DUE_AT } from './line.ts'
import { createSweepLines } from './sweep-lines.ts'
import { createWakeLines, linesIn, writeInLines } from './wake-lines.ts'

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
 * after that. One of the two sees what the other wrote. An operator's change that closes a dead task looks, too. If a
 * process dies in between, a `sweep` of any process finds the line.
 */

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
   * Looks through some of the lines, and makes their first tasks due if they wait: a process may have died before it did
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

/** Creates the view of one process. A task is in the line that was stored with it, whatever the setting says now. */
export function createLines(deps: ClaimsDeps): Lines {
  const findFronts = createFindFronts(deps)
  const { advance, advanceFree, wakeFree } = createWakeLines(deps, findFronts)
  const { sweep, hasLines } = createSweepLines(deps, advanceFree)
  const letWait = async (waiting: readonly LinedRecord[]): Promise<void> => {
    if (waiting.length === 0) return
    // One that was tried meanwhile and has a later time keeps it.
    await writeInLines(deps, waiting, { filter: isDue(deps), u: postpone(IN_LINE_DUE_AT) })
    await advanceFree(linesIn(waiting))
  }
  const separate = async (lined: readonly LinedRecord[]): Promise<readonly LinedRecord[]> => {
    const { claimable, waiting, woken } = decideTurns(lined, await findFronts(linesIn(lined), SEARCH_MS))
    await wakeFree(woken)
    await letWait(waiting)
    return claimable
  }
  /** A long line is moved out of the search in large steps, so that it holds up nothing else. */
  const clear = async (): Promise<void> => {
    const found = await findDue(deps, AT_ONCE)
    await separate(found.filter(isLined))
  }
  return {
    async admit(due) {
      const lined = due.filter(isLined)
      if (lined.length === 0) return { claimable: due, waiting: 0 }
      hasLines()
      const claimable = new Set<DueRecord>(await separate(lined))
      const waiting = lined.length - claimable.size
      if (waiting === due.length) await clear()
      return { claimable: due.filter((record) => !isLined(record) || claimable.has(record)), waiting }
    },
    letWait: (refused) => letWait(refused.filter(isLined)),
    advance,
    sweep,
  }
}

function isLined(record: DueRecord): record is LinedRecord {
  return typeof record.line === 'string'
}
